package attest

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// KeysURL is the URL of Google's public token signing keys.
const KeysURL = "https://www.googleapis.com/oauth2/v3/certs"

const (
	// fetchPause is the minimum interval between two fetches: tokens with unknown keys cause at
	// most one request per minute.
	fetchPause = time.Minute
	// fetchLimit is the timeout for fetching keys.
	fetchLimit = 10 * time.Second
	// keysLife is how long keys are cached if the response does not specify it.
	keysLife = time.Hour
	// longestLife is the maximum time for which keys are cached, because Google revokes keys.
	longestLife = 24 * time.Hour
	// leastBits is the minimum length of an accepted key.
	leastBits = 2048
)

// Keys holds Google's public keys, fetched on first use. It is safe for concurrent use.
type Keys struct {
	// Transport sends the requests. Nil uses the default transport.
	Transport http.RoundTripper
	Now       func() time.Time

	mu      sync.Mutex // guards all fields below, and permits one fetch at a time
	known   map[string]*rsa.PublicKey
	expires time.Time
	asked   time.Time
	err     error // of the last fetch
}

// errUnknownKey is returned for a token that is not signed with one of Google's keys.
var errUnknownKey = errors.New("it is not signed with one of Google's keys")

// find returns a key. It returns an Unavailable error if the keys cannot be fetched.
func (k *Keys) find(ctx context.Context, id string) (*rsa.PublicKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	fresh := now.Before(k.expires)
	if key := k.known[id]; fresh && key != nil {
		return key, nil
	}
	if k.asked.IsZero() || now.Sub(k.asked) >= fetchPause {
		k.refresh(ctx, now)
	}
	switch key := k.known[id]; {
	case k.err != nil:
		return nil, &cloud.Error{Kind: cloud.Unavailable, Op: "fetch Google's token signing keys", Err: k.err}
	case key == nil:
		return nil, errUnknownKey
	default:
		return key, nil
	}
}

func (k *Keys) refresh(ctx context.Context, now time.Time) {
	// Not canceled with ctx, because the next caller needs the keys as well.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchLimit)
	defer cancel()
	known, life, err := k.fetch(ctx)
	k.asked, k.err = now, err
	if err == nil {
		k.known, k.expires = known, now.Add(life)
	}
}

func (k *Keys) fetch(ctx context.Context) (map[string]*rsa.PublicKey, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, KeysURL, nil)
	if err != nil {
		return nil, 0, err
	}
	client := http.Client{Transport: k.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 256<<10))
	switch {
	case err != nil:
		return nil, 0, err
	case answer.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("HTTP status %s", answer.Status)
	}
	known, err := parseKeys(text)
	return known, lifeOf(answer.Header.Get("Cache-Control")), err
}

// parseKeys parses a JSON Web Key Set. It skips keys that are not used for signing tokens.
func parseKeys(text []byte) (map[string]*rsa.PublicKey, error) {
	var set struct {
		Keys []struct {
			ID        string `json:"kid"`
			Type      string `json:"kty"`
			Algorithm string `json:"alg"`
			N, E      string
		} `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the response is not a key set")
	}
	out := make(map[string]*rsa.PublicKey)
	for _, k := range set.Keys {
		n, err1 := base64.RawURLEncoding.DecodeString(k.N)
		e, err2 := base64.RawURLEncoding.DecodeString(k.E)
		if k.ID == "" || k.Type != "RSA" || k.Algorithm != algorithm || err1 != nil || err2 != nil || len(e) > 4 {
			continue
		}
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
		if key.N.BitLen() >= leastBits {
			out[k.ID] = key
		}
	}
	if len(out) == 0 {
		return nil, errors.New("the response contains no keys")
	}
	return out, nil
}

var maxAgeForm = regexp.MustCompile(`(?:^|[ ,])max-age=([0-9]{1,9})(?:$|[ ,])`)

// lifeOf returns the caching time of a response.
func lifeOf(cacheControl string) time.Duration {
	m := maxAgeForm.FindStringSubmatch(cacheControl)
	if m == nil {
		return keysLife
	}
	seconds, _ := strconv.Atoi(m[1]) // the pattern matches digits only
	return min(time.Duration(seconds)*time.Second, longestLife)
}
