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
	"slices"
	"strings"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// askLimit is the timeout of a request to the master.
const askLimit = 5 * time.Second

// ErrForbidden reports that the master rejects the password or session.
var ErrForbidden = errors.New("the master rejects the password of admin")

// MasterClient calls the API of a cluster's master on this machine.
type MasterClient struct {
	spec  Spec
	place Place
}

// Master returns a client of the cluster's master.
func (t *Target) Master() MasterClient { return MasterClient{t.Spec, t.Place} }

// masterProblem returns why the master is unhealthy or not this cluster's, or "".
func (c MasterClient) masterProblem(ctx context.Context) string {
	if _, err := c.sendRequest(ctx, http.MethodGet, "/healthz", "", nil); err != nil {
		return err.Error()
	}
	var info struct {
		Name string `json:"cluster_name"`
	}
	b, err := c.sendRequest(ctx, http.MethodGet, "/info", "", nil)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	switch {
	case err != nil:
		return err.Error()
	case info.Name != c.spec.Cluster:
		return fmt.Sprintf("on port %d cluster %q answers", c.spec.Port, info.Name)
	}
	return ""
}

// holdProblem returns why a master on hold could not serve. The answer is final once the master has
// completed its rehearsal.
func (c MasterClient) holdProblem(ctx context.Context) (problem string, final bool) {
	var info struct {
		OnHold    bool `json:"on_hold"`
		Rehearsal struct {
			Done  bool   `json:"done"`
			Error string `json:"error"`
		} `json:"rehearsal"`
	}
	b, err := c.sendRequest(ctx, http.MethodGet, "/info", "", nil)
	if err == nil {
		err = json.Unmarshal(b, &info)
	}
	switch {
	case err != nil:
		return err.Error(), false
	case !info.OnHold:
		return "a master answers that is not on hold", false
	case !info.Rehearsal.Done:
		return "it is still testing a copy of the store", false
	}
	return info.Rehearsal.Error, true
}

// Login logs in as admin with the generated password and returns the session's token. It returns
// ErrForbidden if the password has been changed.
func (c MasterClient) Login(ctx context.Context) (session string, err error) {
	password, err := os.ReadFile(c.place.Password())
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]string{"username": "admin", "password": strings.TrimSpace(string(password))})
	if err != nil {
		return "", err
	}
	b, err := c.sendRequest(ctx, http.MethodPost, "/api/v1/auth/login", "", body)
	if err != nil {
		return "", err
	}
	var reply struct {
		Token string `json:"token"`
	}
	return reply.Token, errors.Join(json.Unmarshal(b, &reply), nil)
}

// joinedAgent is an agent as reported by the master.
type joinedAgent struct {
	ID           string `json:"id"`
	NotIsolated  string `json:"notIsolated"`
	TrustsUsers  bool   `json:"trustsUsers"`
	NoFixedPaths string `json:"noFixedPaths"`
	Lost         bool   `json:"lost"`
}

// listAgents returns the cluster's own agents that are connected to the master.
func (c MasterClient) listAgents(ctx context.Context, session string) ([]joinedAgent, error) {
	b, err := c.sendRequest(ctx, http.MethodGet, "/api/v1/agents", session, nil)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Agents []joinedAgent `json:"agents"`
	}
	if err := json.Unmarshal(b, &reply); err != nil {
		return nil, err
	}
	return c.selectConnected(reply.Agents), nil
}

// selectConnected removes the agents of others, and those that have not come back since a restart: what they
// reported may be outdated.
func (c MasterClient) selectConnected(agents []joinedAgent) []joinedAgent {
	return slices.DeleteFunc(agents, func(a joinedAgent) bool { return a.Lost || !strings.HasPrefix(a.ID, c.spec.Cluster+"-") })
}

// Restrictions returns sentences about tasks that the cluster's agents reject, with the reasons.
func (c MasterClient) Restrictions(ctx context.Context) ([]string, error) {
	session, err := c.Login(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := c.listAgents(ctx, session)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, a := range agents {
		out = append(out, a.restrictions()...)
	}
	return out, nil
}

func (a joinedAgent) restrictions() []string {
	var out []string
	if a.NotIsolated != "" && !a.TrustsUsers {
		out = append(out, "agent "+a.ID+": "+apiv1.OnlyAdministrators(a.NotIsolated))
	}
	if a.NoFixedPaths != "" {
		out = append(out, "agent "+a.ID+" runs no trials of experiments: "+a.NoFixedPaths)
	}
	return out
}

// Accepts reports whether a session is still valid.
func (c MasterClient) Accepts(ctx context.Context, session string) bool {
	_, err := c.sendRequest(ctx, http.MethodGet, "/api/v1/me", session, nil)
	return err == nil
}

func (c MasterClient) sendRequest(ctx context.Context, method, path, session string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.spec.URL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if session != "" {
		req.Header.Set("Authorization", "Bearer "+session)
	}
	client, err := c.newHTTPClient()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to the end below
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, ErrForbidden
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s %s answers %s%s", method, path, resp.Status, reasonOf(answer))
	}
	return answer, nil
}

// newHTTPClient returns a client that trusts the cluster's CA and uses no proxy.
func (c MasterClient) newHTTPClient() (*http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if c.spec.TLS {
		ca, err := os.ReadFile(c.place.CA())
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, ServerName: c.spec.OwnTLS.Name, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport}, nil
}

// reasonOf returns the reason in a response, preceded by a colon.
func reasonOf(answer []byte) string {
	var a struct{ Reason string }
	if json.Unmarshal(answer, &a) != nil || a.Reason == "" {
		return ""
	}
	return ": " + a.Reason
}
