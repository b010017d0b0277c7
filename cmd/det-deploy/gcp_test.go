package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// TestGCPScripts runs the program with an in-memory Google over loopback, each script in a separate
// project. Machines do not boot there, so the scripts do not wait for the cluster.
func TestGCPScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/gcp",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually, "capture": capture, "terminal": questions, "draw": draw, "google": askGoogle,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", os.Getenv("GORACE"))
			if err := serveGoogle(t, env); err != nil {
				return err
			}
			return unwatched(env)
		},
	})
}

// serveGoogle serves a fake Google for one script and sets the environment variables of gcloud for
// its endpoints.
func serveGoogle(t *testing.T, env *testscript.Env) error {
	w := gcptest.New(t, gcptest.Options{Page: 500, Loopback: true})
	server := httptest.NewServer(loopback(w))
	env.Defer(server.Close)
	for _, service := range gcloudServices() {
		env.Setenv(endpointVariable(service), server.URL+"/"+service+"/")
	}
	env.Setenv(endpointVariable("compute"), server.URL+"/compute/v1/")
	env.Setenv(endpointVariable("storage"), server.URL+"/storage/v1/")
	env.Setenv("CLOUDSDK_CONFIG", env.WorkDir+"/gcloud")
	env.Setenv("CLOUDSDK_CORE_PROJECT", gcptest.Project)
	env.Setenv("CLOUDSDK_COMPUTE_REGION", "us-central1")
	env.Setenv("PROJECT", gcptest.Project)
	env.Setenv("NUMBER", fmt.Sprint(gcptest.Number))
	env.Setenv("TOKEN", w.Token(gcptest.Caller{}))
	env.Setenv("GOOGLE_APPLICATION_CREDENTIALS", env.WorkDir+"/key.json")
	for name, account := range map[string]string{"key.json": "installer", "stranger.json": stranger} {
		key, err := accountKey(account, server.URL+"/token/"+account)
		if err != nil {
			return err
		}
		if err := os.WriteFile(env.WorkDir+"/"+name, key, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// stranger is a service account without permissions.
const stranger = "stranger"

// gcloudServices returns the services whose endpoint can be set to a prefix for gcloud. The
// endpoints of the other two have paths.
func gcloudServices() []string {
	return []string{"iam", "cloudresourcemanager", "secretmanager", "serviceusage", "orgpolicy", "logging", "monitoring"}
}

func endpointVariable(service string) string {
	return "CLOUDSDK_API_ENDPOINT_OVERRIDES_" + strings.ToUpper(service)
}

// loopback serves a world at one address: each service below its name, and tokens for the keys of the
// world's owner and of a stranger.
func loopback(w *gcptest.World) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", w)
	for _, service := range gcloudServices() {
		mux.Handle("/"+service+"/", http.StripPrefix("/"+service, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			r.URL.Host = service + ".googleapis.com"
			w.ServeHTTP(rw, r)
		})))
	}
	mux.HandleFunc("/token/{account}", func(rw http.ResponseWriter, r *http.Request) {
		var caller gcptest.Caller
		if r.PathValue("account") == stranger {
			caller.Member = "serviceAccount:" + emailOf(stranger)
		}
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, w.Token(caller))
	})
	return mux
}

// rsaKey returns one key for all scripts, because it takes long to generate.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func emailOf(account string) string {
	return account + "@" + gcptest.Project + ".iam.gserviceaccount.com"
}

// accountKey returns the key file of a service account that gets its tokens at an address.
func accountKey(account, tokens string) ([]byte, error) {
	key, err := rsaKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{
		"type": "service_account", "client_email": emailOf(account),
		"private_key_id": "1", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokens,
	})
}

// askGoogle changes the fake Google without the knowledge of the program:
//
//	google lose BUCKET OBJECT
//	google log CLUSTER INSTANCE UNIT TEXT
//	google disable API
func askGoogle(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "usage: google lose bucket object, or: google log cluster instance unit text, or: google disable API, or: google deny network port"
	if neg || len(args) < 2 || args[0] != "disable" && len(args) < 3 {
		ts.Fatalf(usage)
	}
	switch args[0] {
	case "disable":
		sendGoogle(ts, http.MethodPost, ts.Getenv(endpointVariable("serviceusage"))+"v1/projects/"+gcptest.Project+"/services/"+args[1]+":disable", map[string]any{})
		return
	case "deny":
		sendGoogle(ts, http.MethodPost, ts.Getenv(endpointVariable("compute"))+"projects/"+gcptest.Project+"/global/firewalls", map[string]any{
			"name": "closed", "network": "global/networks/" + args[1], "sourceRanges": []string{"0.0.0.0/0"},
			"denied": []any{map[string]any{"IPProtocol": "tcp", "ports": []string{args[2]}}},
		})
		return
	case "lose":
		sendGoogle(ts, http.MethodDelete, ts.Getenv(endpointVariable("storage"))+"b/"+args[1]+"/o/"+url.PathEscape(args[2]), nil)
		return
	}
	entry := map[string]any{
		"logName": "projects/" + gcptest.Project + "/logs/det-deploy-" + args[1], "insertId": args[4], "textPayload": args[4],
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "labels": map[string]string{"instance": args[2], "unit": args[3]},
		"resource": map[string]string{"type": "global"},
	}
	sendGoogle(ts, http.MethodPost, ts.Getenv(endpointVariable("logging"))+"v2/entries:write", map[string]any{"entries": []any{entry}})
}

func sendGoogle(ts *testscript.TestScript, method, address string, body any) {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		ts.Check(err)
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, address, in)
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_ = resp.Body.Close() // it was read
	if resp.StatusCode >= 300 {
		ts.Fatalf("%s %s: %s: %s", method, address, resp.Status, text)
	}
}
