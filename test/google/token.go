package googletest

import "testing"

// Judged is the result of google-auth's verification of tokens.
type Judged struct {
	// Fetched is the identity token that it obtained from the metadata server, if any, Access an
	// access token, and Account their service account.
	Fetched string `json:"fetched"`
	Access  string `json:"access"`
	Account string `json:"account"`
	// Believed holds the claims of tokens by their names. They are nil for rejected tokens.
	Believed map[string]map[string]any `json:"believed"`
}

// JudgeTokens verifies tokens for an audience with google-auth and the public keys at a URL. If
// metadata, the host and port of a metadata server, is not empty, it also verifies a token from
// there, with the name "fetched".
func JudgeTokens(t testing.TB, metadata, audience, certs string, tokens map[string]string) (out Judged) {
	t.Helper()
	p := program{script: "judge_tokens.py", args: []string{audience, certs}, input: tokens}
	if metadata != "" {
		p.env = []string{"GCE_METADATA_HOST=" + metadata, "GCE_METADATA_IP=" + metadata, "GOOGLE_APPLICATION_CREDENTIALS="}
	}
	p.runScript(t, &out)
	return out
}
