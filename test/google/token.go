package googletest

import "testing"

// Judged is what google-auth thinks of tokens.
type Judged struct {
	// Fetched is the token that it was given by the metadata server, if there is one, Access
	// one for calls, and Account whose both are.
	Fetched string `json:"fetched"`
	Access  string `json:"access"`
	Account string `json:"account"`
	// Believed are the claims of tokens by their names, nil for those that are refused.
	Believed map[string]map[string]any `json:"believed"`
}

// JudgeTokens has google-auth check tokens for an audience against the public keys at a
// URL. Metadata is the host and port of a metadata server that gives it one more, with the
// name "fetched"; empty is none.
func JudgeTokens(t testing.TB, metadata, audience, certs string, tokens map[string]string) (out Judged) {
	t.Helper()
	p := program{script: "judge_tokens.py", args: []string{audience, certs}, input: tokens}
	if metadata != "" {
		p.env = []string{"GCE_METADATA_HOST=" + metadata, "GCE_METADATA_IP=" + metadata, "GOOGLE_APPLICATION_CREDENTIALS="}
	}
	p.runScript(t, &out)
	return out
}
