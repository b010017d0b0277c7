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

// The times within which a proof is believed. Amazon's own limit is a quarter of
// an hour; clocks differ by minutes.
const (
	maxAge  = 15 * time.Minute
	maxSkew = 5 * time.Minute
)

// proofLimit is far above what a proof has: a session token of 2 KB, at most.
const proofLimit = 16 << 10

// signature is the part of a proof that is passed on.
type signature struct {
	region string
	header map[string]string
	// once is the signature with its nonce. Amazon's form allows the same signature
	// to be written in several ways: the space between its parts, the case and order
	// of headers, blanks around their values, escapes in the text around it.
	once string
}

// authorization is how version 4 of Amazon's signatures is written.
var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=[A-Z0-9]{16,128}/(\d{8})/([a-z0-9-]+)/sts/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$`)

// nonce is the form of one: without blanks, which a signature does not cover.
var nonce = regexp.MustCompile(`^[A-Za-z0-9_-]{16,128}$`)

// carried is every header that a proof may have beside its signature; all of
// them must be under it. Host and length are not carried: they are ours.
func carried() []string {
	return []string{"Content-Type", "X-Amz-Date", "X-Amz-Security-Token", Audience, Nonce}
}

// check verifies what can be verified without a call.
func (v Verifier) check(audience string, proof cloud.Proof) (signature, error) {
	if proof.Kind != Kind {
		return signature{}, fmt.Errorf("a proof of the form %q is not Amazon's", proof.Kind)
	}
	if audience == "" {
		return signature{}, errors.New("for which cluster it should be is not said")
	}
	s, err := parse(proof.Data)
	if err != nil {
		return signature{}, err
	}
	m := authorization.FindStringSubmatch(s.Header["Authorization"])
	if m == nil {
		return signature{}, errors.New("it has no signature of version 4 for STS")
	}
	date, region, signed := m[1], m[2], strings.Split(m[3], ";")
	if !slices.Contains(v.Regions, region) {
		return signature{}, fmt.Errorf("it is signed for the region %q, in which no machine is launched", region)
	}
	if s.URL != URL(region, v.Endpoint) {
		return signature{}, errors.New("it is meant for another address than Amazon's")
	}
	if err := covered(s.Header, signed); err != nil {
		return signature{}, err
	}
	if s.Header[Audience] != audience {
		return signature{}, errors.New("it is for another cluster")
	}
	if err := v.fresh(s.Header["X-Amz-Date"], date); err != nil {
		return signature{}, err
	}
	if !nonce.MatchString(s.Header[Nonce]) {
		return signature{}, errors.New("its nonce is not one that a machine makes")
	}
	return signature{region: region, header: s.Header, once: s.Header[Nonce] + " " + m[4]}, nil
}

// parse reads a proof; a header that is there twice, in any spelling, is not
// read at all.
func parse(data []byte) (Signed, error) {
	if len(data) > proofLimit {
		return Signed{}, fmt.Errorf("it has %d bytes, more than any proof", len(data))
	}
	var s Signed
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil || d.More() {
		return Signed{}, errors.New("it cannot be read")
	}
	header := map[string]string{}
	for name, value := range s.Header {
		name = http.CanonicalHeaderKey(name)
		if _, twice := header[name]; twice {
			return Signed{}, fmt.Errorf("it has two headers %s", name)
		}
		header[name] = value
	}
	s.Header = header
	return s, nil
}

// covered reports a header that is missing, or not under the signature, or not
// one that a proof may carry.
func covered(header map[string]string, signed []string) error {
	if !slices.Contains(signed, "host") {
		return errors.New("the host is not under its signature")
	}
	for name := range header {
		if name != "Authorization" && !slices.Contains(carried(), name) {
			return fmt.Errorf("it carries a header %q, which no proof has", name)
		}
	}
	for _, name := range carried() {
		if header[name] == "" || !slices.Contains(signed, strings.ToLower(name)) {
			return fmt.Errorf("the header %s is missing or not under its signature", name)
		}
	}
	for _, name := range signed {
		if name != "host" && name != "content-length" && header[http.CanonicalHeaderKey(name)] == "" {
			return fmt.Errorf("it signs a header %q that it does not have", name)
		}
	}
	return nil
}

func (v Verifier) fresh(stamp, date string) error {
	at, err := time.Parse("20060102T150405Z", stamp)
	if err != nil || !strings.HasPrefix(stamp, date) {
		return errors.New("its time cannot be read")
	}
	switch age := v.Now().Sub(at); {
	case age > maxAge:
		return fmt.Errorf("it was signed %s ago; a proof is good for %s", age.Round(time.Second), maxAge)
	case age < -maxSkew:
		return fmt.Errorf("it was signed %s in the future", (-age).Round(time.Second))
	}
	return nil
}
