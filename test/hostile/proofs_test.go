package hostile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/clustertest"
)

// machinesPool launches machines whose agents do not start during a test, so that the test can
// present their proofs instead.
const machinesPool = `  - pool_name: machines
    provider:
      type: local
      artificial_slots: 1
      max_instances: 2
      start_delay: 24h
      max_agent_starting_period: 24h
      agent_config_file_contents: {container_runtime: process}
`

// launchMachines launches two machines. The second joins with its proof and presents its
// credential.
func (w *world) launchMachines() {
	w.t.Helper()
	w.t.Cleanup(w.endMachines)
	ctx, cancel := context.WithTimeout(w.t.Context(), settleLimit)
	defer cancel()
	for range 2 {
		if _, err := w.launch(ctx, "grace", task{script: "true", config: map[string]any{"resources": map[string]any{"slots": 1, "resource_pool": "machines"}}}); err != nil {
			w.t.Fatal(err)
		}
	}
	var places []string
	if !w.awaits(ctx, func() bool { places = w.machines("secret"); return len(places) == 2 }) {
		w.t.Fatalf("got the machines %v, want 2", places)
	}
	for i, place := range places {
		s, err := machine.ReadSecret(place)
		if err != nil {
			w.t.Fatal(err)
		}
		w.secrets = append(w.secrets, s)
		w.name(fmt.Sprintf("machine-%d", i), s.Instance)
	}
	conn, welcome, err := w.comeBack(ctx, w.proving(1, time.Now(), ""))
	if err != nil {
		w.t.Fatal(err)
	}
	_ = conn.CloseNow() // it has its credential
	h := hello(w.secrets[1].Instance)
	h.Credential = welcome.GetCredential()
	conn, _, err = w.comeBack(ctx, h)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = conn.CloseNow() // it has used its credential
}

// machines returns the files with a name in the directories of all machines.
func (w *world) machines(name string) []string {
	all, _ := filepath.Glob(filepath.Join(w.cluster.Dir, "master", "machines", "*", "m-*", name)) // the pattern is valid
	slices.Sort(all)
	return all
}

// endMachines kills the machines of a test, after the master, which would launch others.
func (w *world) endMachines() {
	clustertest.Kill(w.cluster.Master)
	for _, name := range w.machines("pid") {
		text, _ := os.ReadFile(name) // a machine that is being created has none
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = unix.Kill(-pid, unix.SIGKILL) // its group, which may have exited
		}
	}
}

// proving returns the Hello of machine i with a proof for a time and a cluster; an empty cluster is
// this one.
func (w *world) proving(i int, at time.Time, cluster string) *agentv1.Hello {
	if cluster == "" {
		cluster = w.names["cluster-id"]
	}
	h := hello(w.secrets[i].Instance)
	proof, err := w.secrets[i].Prove(cluster, at)
	if err != nil {
		w.t.Fatal(err)
	}
	h.Proof, h.ProofKind = proof.Data, proof.Kind
	return h
}

// proves checks that a machine is welcomed with its own proof.
var proves = &control{"a machine that was launched joins with a proof", func(ctx context.Context, w *world) outcome {
	conn, welcome, err := w.comeBack(ctx, w.proving(0, time.Now(), ""))
	if err != nil {
		return isRefused("%v", err)
	}
	_ = conn.CloseNow() // it was welcomed
	return isSucceeded("welcome to %s", welcome.GetClusterId())
}}

// spelled are equivalent encodings of a proof.
var spelled = map[string]func(proof []byte) ([]byte, error){
	"as it was": func(p []byte) ([]byte, error) { return p, nil },
	"with spaces": func(p []byte) ([]byte, error) {
		return []byte(" " + strings.ReplaceAll(string(p), `,"`, ` , "`) + "\n"), nil
	},
	"in another order": func(p []byte) ([]byte, error) {
		var m map[string]any
		d := json.NewDecoder(strings.NewReader(string(p)))
		d.UseNumber()
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		return json.Marshal(m)
	},
	"with its keys in capitals": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), `"nonce"`, `"NONCE"`, 1)), nil
	},
	"with an escaped letter": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), `"instance":"m`, `"instance":"\u006d`, 1)), nil
	},
	"with a key of no meaning": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), "{", `{"again":true,`, 1)), nil
	},
	"with a key twice": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), `"nonce":`, `"nonce":"other","nonce":`, 1)), nil
	},
	"with another nonce": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), `"nonce":"`, `"nonce":"A`, 1)), nil
	},
	"with a later end": func(p []byte) ([]byte, error) {
		return []byte(strings.Replace(string(p), `"expires":`, `"expires":1`, 1)), nil
	},
}

// proofAttempts present proofs that are used, expired or invalid.
func proofAttempts() []attempt {
	const wants = "to be an agent, or another agent than one is"
	var all []attempt
	for name, spell := range spelled {
		all = append(all, attempt{
			name: "an agent shows a machine's proof again, " + name, who: agent, where: process, wants: wants, control: proves,
			try: func(ctx context.Context, w *world) outcome { return w.replays(ctx, spell) },
		})
	}
	for name, make := range map[string]func(w *world) *agentv1.Hello{
		"that has expired":    func(w *world) *agentv1.Hello { return w.proving(0, time.Now().Add(-2*machine.ProofLife), "") },
		"of the future":       func(w *world) *agentv1.Hello { return w.proving(0, time.Now().Add(time.Hour), "") },
		"for another cluster": func(w *world) *agentv1.Hello { return w.proving(0, time.Now(), "another") },
		"under another's name": func(w *world) *agentv1.Hello {
			h := w.proving(0, time.Now(), "")
			h.AgentId = w.names["machine-1"]
			return h
		},
		"under a name of no one": func(w *world) *agentv1.Hello {
			h := w.proving(0, time.Now(), "")
			h.AgentId = "m-0123456789abcdef"
			return h
		},
		"without its signature": func(w *world) *agentv1.Hello {
			h := w.proving(0, time.Now(), "")
			text, _, _ := strings.Cut(string(h.GetProof()), `,"mac"`)
			h.Proof = []byte(text + "}")
			return h
		},
		"of a secret of its own": func(w *world) *agentv1.Hello {
			own := machine.NewSecret(w.secrets[0].Instance)
			proof, err := own.Prove(w.names["cluster-id"], time.Now())
			if err != nil {
				w.t.Fatal(err)
			}
			h := hello(own.Instance)
			h.Proof, h.ProofKind = proof.Data, proof.Kind
			return h
		},
	} {
		all = append(all, attempt{
			name: "an agent shows a machine's proof " + name, who: agent, where: process, wants: wants, control: proves,
			try: func(ctx context.Context, w *world) outcome { return w.admittedAlone(ctx, make(w)) },
		})
	}
	return append(all, attempt{
		name: "a task that can sign like its machine shows a new proof", who: userTask, where: process, wants: wants, control: proves,
		try: func(ctx context.Context, w *world) outcome { return w.admittedAlone(ctx, w.proving(1, time.Now(), "")) },
	})
}

// replays admits a machine by a proof and presents the same proof again.
func (w *world) replays(ctx context.Context, spell func([]byte) ([]byte, error)) outcome {
	h := w.proving(0, time.Now(), "")
	conn, _, err := w.comeBack(ctx, h)
	if err != nil {
		return isUntried(err)
	}
	_ = conn.CloseNow() // an eavesdropper presents the same proof now
	if h.Proof, err = spell(h.Proof); err != nil {
		return isUntried(err)
	}
	return w.admittedAlone(ctx, h)
}

// admittedAlone is like admitted, but waits until the master has noticed the end of the previous
// connection of the agent with this name.
func (w *world) admittedAlone(ctx context.Context, h *agentv1.Hello) (got outcome) {
	alone := w.awaits(ctx, func() bool {
		got = w.admitted(ctx, h, nil)
		return !strings.Contains(got.why, "already connected")
	})
	if !alone {
		return isUntried(errors.New(got.why))
	}
	return got
}
