package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// Credentials are the initial credentials of the user admin.
type Credentials struct {
	User     string
	Password secret.Value
}

// The keys of the initial passwords in the Secret that was generated for a cluster.
const (
	adminKey      = "admin-password"
	determinedKey = "determined-password"
)

// Credentials returns the initial password of admin, from the values, from the Secret that they
// name, or from the generated Secret.
func (t *Target) Credentials(ctx context.Context) (Credentials, error) {
	p, found, err := t.newAccess().givenPassword(ctx, "initialUserPasswordExistingSecret", "initialUserPassword", "defaultPassword")
	if err != nil || found {
		return Credentials{"admin", p}, err
	}
	s, err := t.newAccess().readPasswords(ctx, secretsPrefix+t.Cluster)
	if err != nil {
		return Credentials{}, err
	}
	p, err = readEntry(s, adminKey)
	return Credentials{"admin", p}, err
}

// DeterminedPassword returns the initial password of the user determined. It is that of admin if
// the values set no other, and in clusters of older versions, which generated one for both users.
func (t *Target) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	p, found, err := t.newAccess().givenPassword(ctx, "initialDeterminedPasswordExistingSecret", "initialDeterminedPassword")
	if err != nil || found {
		return p, err
	}
	if p, found, err = t.newAccess().givenPassword(ctx, "initialUserPasswordExistingSecret", "initialUserPassword", "defaultPassword"); err != nil || found {
		return p, err
	}
	s, err := t.newAccess().readPasswords(ctx, secretsPrefix+t.Cluster)
	if err != nil {
		return secret.Value{}, err
	}
	if _, own := s.Data[determinedKey]; !own {
		return readEntry(s, adminKey)
	}
	return readEntry(s, determinedKey)
}

// givenPassword returns the password that the values set, in one of texts or in the Secret named by
// the value at elsewhere.
func (t access) givenPassword(ctx context.Context, elsewhere string, texts ...string) (p secret.Value, found bool, err error) {
	for _, path := range texts {
		if p := t.values.Text(path); p != "" {
			return secret.Literal(p), true, nil
		}
	}
	name := t.values.Text(elsewhere + ".name")
	if name == "" {
		return secret.Value{}, false, nil
	}
	s, err := t.readPasswords(ctx, name)
	if err != nil {
		return secret.Value{}, false, err
	}
	p, err = readEntry(s, t.values.Text(elsewhere+".key"))
	return p, err == nil, err
}

// readPasswords returns the Secret with initial passwords.
func (t access) readPasswords(ctx context.Context, name string) (*corev1.Secret, error) {
	s, err := t.API.CoreV1().Secrets(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, &cloud.Error{
			Kind: cloud.NotFound, Op: "read the first password", Resource: "secret " + name,
			Err: errors.New("it does not exist yet: the master's pod creates it at its start"),
			Fix: "run `det-deploy k8s status --cluster-id " + t.Cluster + "` to see whether it has",
		}
	}
	if err != nil {
		return nil, t.explainError("get", "secrets", name, err)
	}
	return s, nil
}

func readEntry(s *corev1.Secret, key string) (secret.Value, error) {
	text, found := s.Data[key]
	if !found {
		return secret.Value{}, fmt.Errorf("read the first password: secret %s has no key %s", s.Name, key)
	}
	return secret.Literal(string(text)), nil
}

// About is the master's description of itself.
type About struct {
	ClusterID   string `json:"cluster_id"`
	ClusterName string `json:"cluster_name"`
	Version     string `json:"det_deploy_version"`
	OnHold      bool   `json:"on_hold"`
}

func (t access) readAbout(ctx context.Context) (About, error) {
	e, err := t.masterEndpoint(ctx)
	if err != nil {
		return About{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	raw, err := t.API.CoreV1().Services(t.Namespace).ProxyGet(e.urlScheme(), e.Service, strconv.Itoa(int(e.Port)), "info", nil).DoRaw(ctx)
	if err != nil {
		return About{}, t.explainError("get", "services/proxy", e.Service, err)
	}
	var a About
	if err := json.Unmarshal(raw, &a); err != nil {
		return About{}, fmt.Errorf("get the master's identity: %w", err)
	}
	return a, nil
}

// awaitAnswer waits until the master answers through the API server. If RBAC or the network
// prevents that, it relies on the readiness probe, which makes the same request.
func (t access) awaitAnswer(ctx context.Context, tell func(string)) error {
	tell("the master's pod is ready; checking the master's identity")
	deadline := time.Now().Add(t.answerLimit)
	for {
		a, err := t.readAbout(ctx)
		switch {
		case err == nil && a.OnHold:
			return errors.New("the master is on hold and serves no requests")
		case err == nil:
			return t.checkName(a)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline) || t.isClosed(err):
			tell("its probes succeed, but it cannot be reached through the API server: " + firstLine(err.Error()))
			return nil
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return err
		}
	}
}

// checkName returns an error if the master belongs to a cluster of another name.
func (t access) checkName(a About) error {
	want := t.values.Text("clusterName")
	if want == "" || a.ClusterName == want {
		return nil
	}
	return fmt.Errorf("the master belongs to cluster %q, not %q", a.ClusterName, want)
}

// isClosed reports whether err is a refusal that waiting does not change.
func (t access) isClosed(err error) bool {
	var status interface{ Status() int }
	return isDenied(err) || errors.As(err, &status) && status.Status() == http.StatusMethodNotAllowed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
