package attest

import (
	"testing"
	"time"
)

// Any input that is not a token returns an error and has no other effect.
func FuzzParseToken(f *testing.F) {
	f.Add([]byte("eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA"))
	f.Add([]byte("eyJhbGciOiJub25lIn0.e30."))
	f.Add([]byte("a.b.c"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := parseToken(data)
		if err != nil {
			return
		}
		if parsed.once() == "" || len(parsed.signature) == 0 {
			t.Errorf("%q: got %+v", data, parsed)
		}
		if parsed.claims.check("lab", time.Unix(0, 0)) == nil && parsed.claims.Google.Machine == nil {
			t.Errorf("%q: taken without a machine", data)
		}
	})
}
