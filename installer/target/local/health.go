package local

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// askLimit is how long one question to the master of this machine may take.
	askLimit = 5 * time.Second
	// joinLimit is how long agents may take to join after they were started.
	joinLimit = 60 * time.Second
)

// ill asks the master how it is: it must answer, and be this cluster's.
func (t *Target) ill(ctx context.Context) string {
	if _, err := t.ask(ctx, http.MethodGet, "/healthz", "", nil); err != nil {
		return err.Error()
	}
	var info struct {
		Name string `json:"cluster_name"`
	}
	b, err := t.ask(ctx, http.MethodGet, "/info", "", nil)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	switch {
	case err != nil:
		return err.Error()
	case info.Name != t.Spec.Cluster:
		return fmt.Sprintf("on port %d cluster %q answers", t.Spec.Port, info.Name)
	}
	return ""
}

// Ready waits until the master answers and every agent has joined.
func (t *Target) Ready(ctx context.Context, tell func(string)) error {
	tell("the master to answer")
	last := ""
	if !until(ctx, startLimit, func() bool { last = t.ill(ctx); return last == "" }) {
		return refuse("wait for", "the master", errors.Join(errors.New(last), ctx.Err()))
	}
	if t.Spec.Agents > 0 {
		tell(fmt.Sprintf("%d agents to join", t.Spec.Agents))
	}
	session, err := t.Login(ctx)
	if errors.Is(err, ErrForbidden) {
		tell("no agents: the password of admin was changed, so they cannot be counted")
		return nil
	}
	if err != nil {
		return refuse("log in to", "the master", err)
	}
	var joined int
	ok := until(ctx, joinLimit, func() bool {
		joined, err = t.joined(ctx, session)
		return err == nil && joined >= t.Spec.Agents
	})
	if !ok {
		return refuse("wait for", "the agents", errors.Join(err, ctx.Err(),
			fmt.Errorf("%d of %d have joined; the last one's log says: %s (%s)", joined, t.Spec.Agents,
				tail(t.Place.Log(fmt.Sprintf("agent-%d", t.Spec.Agents))), t.Place.path("logs"))))
	}
	return nil
}

// Login begins a session of admin with the password that was generated, and
// returns its token. It returns ErrForbidden when that was changed since.
func (t *Target) Login(ctx context.Context) (session string, err error) {
	password, err := os.ReadFile(t.Place.Password())
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"username": "admin", "password": strings.TrimSpace(string(password))})
	if err != nil {
		return "", err
	}
	b, err := t.ask(ctx, http.MethodPost, "/api/v1/auth/login", "", body)
	if err != nil {
		return "", err
	}
	var reply struct {
		Token string `json:"token"`
	}
	return reply.Token, errors.Join(json.Unmarshal(b, &reply), nil)
}

// joined counts the agents of this cluster's own that the master knows.
func (t *Target) joined(ctx context.Context, session string) (int, error) {
	b, err := t.ask(ctx, http.MethodGet, "/api/v1/agents", session, nil)
	if err != nil {
		return 0, err
	}
	var reply struct {
		Agents []struct {
			ID string `json:"id"`
		} `json:"agents"`
	}
	if err := json.Unmarshal(b, &reply); err != nil {
		return 0, err
	}
	n := 0
	for _, a := range reply.Agents {
		if strings.HasPrefix(a.ID, t.Spec.Cluster+"-") {
			n++
		}
	}
	return n, nil
}

// ErrForbidden is a password or a session that the master does not accept.
var ErrForbidden = errors.New("the master refuses the password of admin")

// Accepts reports whether a session is still good.
func (t *Target) Accepts(ctx context.Context, session string) bool {
	_, err := t.ask(ctx, http.MethodGet, "/api/v1/me", session, nil)
	return err == nil
}

func (t *Target) ask(ctx context.Context, method, path, session string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, t.Spec.URL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if session != "" {
		req.Header.Set("Authorization", "Bearer "+session)
	}
	client, err := t.http()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, ErrForbidden
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s %s answers %s%s", method, path, resp.Status, reason(answer))
	}
	return answer, nil
}

// reason is what an answer gives as the reason, behind a colon.
func reason(answer []byte) string {
	var a struct{ Reason string }
	if json.Unmarshal(answer, &a) != nil || a.Reason == "" {
		return ""
	}
	return ": " + a.Reason
}

// http trusts the cluster's own CA, and no proxy comes between this machine and
// itself.
func (t *Target) http() (*http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if t.Spec.TLS {
		ca, err := os.ReadFile(t.Place.CA())
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}
