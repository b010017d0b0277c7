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
)

// About is what a master says of itself.
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
		return About{}, fmt.Errorf("ask the master who it is: %w", err)
	}
	return a, nil
}

// awaitAnswer waits until the master answers. Where the user may not ask through the API
// server, or its network blocks the request, the pod's own probes have to do: they
// asked the same.
func (t access) awaitAnswer(ctx context.Context, tell func(string)) error {
	tell("the master's pod is ready; asking the master who it is")
	deadline := time.Now().Add(answerLimit)
	for {
		a, err := t.readAbout(ctx)
		switch {
		case err == nil && a.OnHold:
			return errors.New("ask the master: it is on hold and serves no client")
		case err == nil:
			return t.checkName(a)
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(deadline) || t.isClosed(err):
			tell("its probes say that it answers; through the API server it cannot be asked: " + firstLine(err.Error()))
			return nil
		}
		if err := t.pauseBriefly(ctx); err != nil {
			return err
		}
	}
}

// checkName refuses the master of another cluster, by its name.
func (t access) checkName(a About) error {
	want := t.values.Text("clusterName")
	if want == "" || a.ClusterName == want {
		return nil
	}
	return fmt.Errorf("ask the master: it is the master of cluster %q and not of %q", a.ClusterName, want)
}

// isClosed reports a refusal that waiting does not change.
func (t access) isClosed(err error) bool {
	var status interface{ Status() int }
	return isDenied(err) || errors.As(err, &status) && status.Status() == http.StatusMethodNotAllowed
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
