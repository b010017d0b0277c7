package attest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// The period in which a proof is accepted. Amazon's own limit is 15 minutes; clocks may differ by
// minutes.
const (
	maxAge  = 15 * time.Minute
	maxSkew = 5 * time.Minute
)

// proofLimit is the maximum size of a proof. Most of a proof is a session token of up to 2 KB.
const proofLimit = 16 << 10

// signature is the part of a proof that is sent to Amazon.
type signature struct {
	region string
	header map[string]string
	// once is the signature with its nonce. The same signature has several valid encodings: spaces
	// between its parts, case and order of headers, whitespace around their values, escapes in the
	// surrounding JSON.
	once string
}

// authorization matches the Authorization header of AWS Signature Version 4.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[A-Z0-9]{16,128}/(\d{8})/([a-z0-9-]+)/sts/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$`)

// nonce matches valid nonces. They contain no whitespace, because a signature does not cover it.
var nonce = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// permittedHeaders returns the headers that a proof may have besides its signature. All of them must be
// signed. The verifier sets Host and Content-Length itself.
func permittedHeaders() []string {
	return []string{"Content-Type", "X-Amz-Date", "X-Amz-Security-Token", Audience, Nonce}
}

// check verifies a proof as far as possible without an API call.
func (v Verifier) check(audience string, proof cloud.Proof) (signature, error) {
	if proof.Kind != Kind {
		return signature{}, fmt.Errorf("proof type %q is not supported", proof.Kind)
	}
	if audience == "" {
		return signature{}, errors.New("no cluster ID to verify it for")
	}
	s, err := parse(proof.Data)
	if err != nil {
		return signature{}, err
	}
	m := authorization.FindStringSubmatch(s.Header["Authorization"])
	if m == nil {
		return signature{}, errors.New("it has no version 4 signature for STS")
	}
	date, region, signed := m[1], m[2], strings.Split(m[3], ";")
	if !slices.Contains(v.Regions, region) {
		return signature{}, fmt.Errorf("it is signed for region %q, in which no instances are launched", region)
	}
	if s.URL != URL(region, v.Endpoint) {
		return signature{}, errors.New("it is for an endpoint other than Amazon's")
	}
	if err := checkHeaders(s.Header, signed); err != nil {
		return signature{}, err
	}
	if s.Header[Audience] != audience {
		return signature{}, errors.New("it is for another cluster")
	}
	if err := v.fresh(s.Header["X-Amz-Date"], date); err != nil {
		return signature{}, err
	}
	if !nonce.MatchString(s.Header[Nonce]) {
		return signature{}, errors.New("its nonce is malformed")
	}
	return signature{region: region, header: s.Header, once: s.Header[Nonce] + " " + m[4]}, nil
}

// parse decodes a proof. It returns an error if a header occurs twice, in any spelling.
func parse(data []byte) (Signed, error) {
	if len(data) > proofLimit {
		return Signed{}, fmt.Errorf("it is too large (%d bytes)", len(data))
	}
	var s Signed
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || d.More() {
		return Signed{}, errors.New("it cannot be parsed")
	}
	header := map[string]string{}
	for name, value := range s.Header {
		name = http.CanonicalHeaderKey(name)
		if _, twice := header[name]; twice {
			return Signed{}, fmt.Errorf("it has a duplicate header %s", name)
		}
		header[name] = value
	}
	s.Header = header
	return s, nil
}

// checkHeaders returns an error if a header is missing, unsigned or not permitted in a proof.
func checkHeaders(header map[string]string, signed []string) error {
	if !slices.Contains(signed, "host") {
		return errors.New("its Host header is not signed")
	}
	for name := range header {
		if name != "Authorization" && !slices.Contains(permittedHeaders(), name) {
			return fmt.Errorf("it has an unexpected header %q", name)
		}
	}
	for _, name := range permittedHeaders() {
		if header[name] == "" || !slices.Contains(signed, strings.ToLower(name)) {
			return fmt.Errorf("its header %s is missing or not signed", name)
		}
	}
	for _, name := range signed {
		if name != "host" && name != "content-length" && header[http.CanonicalHeaderKey(name)] == "" {
			return fmt.Errorf("it signs a missing header %q", name)
		}
	}
	return nil
}

func (v Verifier) fresh(stamp, date string) error {
	at, err := time.Parse("20060102T150405Z", stamp)
	if err != nil || !strings.HasPrefix(stamp, date) {
		return errors.New("its date is invalid")
	}
	switch age := v.Now().Sub(at); {
	case age > maxAge:
		return fmt.Errorf("it was signed %s ago; a proof is valid for %s", age.Round(time.Second), maxAge)
	case age < -maxSkew:
		return fmt.Errorf("it was signed %s in the future", (-age).Round(time.Second))
	}
	return nil
}
