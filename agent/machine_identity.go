package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/wait"
)

// Machine is the interface of an agent to the launched machine it runs on.
type Machine interface {
	// Proof returns a proof of the machine's identity for a cluster.
	Proof(ctx context.Context, cluster string) (machine.Proof, error)
	// Notice waits for the first notice with a number greater than after. found is false if none
	// arrived before a timeout.
	Notice(ctx context.Context, after int64) (n machine.Notice, found bool, err error)
}

// machineOf returns the machine of a launched agent, or nil for a static agent.
func machineOf(s config.Agent) Machine {
	switch {
	case s.MachineSocket != "":
		return machine.New(s.MachineSocket)
	case s.MachineSecretFile != "":
		return machine.SecretFile(s.MachineSecretFile)
	default:
		return nil
	}
}

// selfFile stores the machine's identity and state of preparation.
const selfFile = "machine.json"

// self is the persisted state of a launched machine.
type self struct {
	// Instance is the ID of the instance. If it differs from the current one, the disk was copied
	// from another machine and the rest of the state is discarded.
	Instance string `json:"instance"`
	// Prepared is true after the machine was set up. Failure is the error if the setup failed; it
	// is not retried.
	Prepared bool   `json:"prepared,omitempty"`
	Failure  string `json:"failure,omitempty"`
}

// identifyMachine asks for the machine's identity until it gets an answer. If the disk was copied
// from another machine, it deletes that machine's credential and configuration.
func identifyMachine(ctx context.Context, m Machine, s config.Agent, log *slog.Logger) (self, error) {
	proof, err := askProof(ctx, m, s, log)
	if err != nil {
		return self{}, err
	}
	known, err := readSelf(s.DataDir)
	if err != nil || known.Instance == proof.Instance {
		return known, err
	}
	for _, file := range []string{credentialFile(s), overlayFile(s)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return self{}, fmt.Errorf("remove the state of another machine: %w", err)
		}
	}
	now := self{Instance: proof.Instance}
	return now, writeSelf(s.DataDir, now)
}

// askProof retries, because the unit that answers may start after the agent.
func askProof(ctx context.Context, m Machine, s config.Agent, log *slog.Logger) (machine.Proof, error) {
	told := ""
	for {
		p, err := m.Proof(ctx, s.ClusterID)
		if err == nil && p.Instance == "" {
			err = errors.New("get a proof of identity from this machine: it does not name itself")
		}
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		if err.Error() != told {
			told = err.Error()
			log.Warn("cannot get the identity of this machine; retrying", "err", err)
		}
		if err := wait.For(ctx, retryPause); err != nil {
			return p, err
		}
	}
}

func readSelf(dir string) (self, error) {
	var s self
	err := atomicfile.ReadJSON(filepath.Join(dir, selfFile), "remove it: the agent then joins with the identity of the current machine", &s)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read the identity of this machine: %w", err)
	}
	return s, nil
}

func writeSelf(dir string, s self) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, selfFile), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the identity of this machine: %w", err)
	}
	return nil
}

func credentialFile(s config.Agent) string { return filepath.Join(s.DataDir, "credential") }

// proveWith returns a function that proves the machine's identity, or nil for a static agent.
func proveWith(m Machine, s config.Agent) func(context.Context) (link.Proof, error) {
	if m == nil {
		return nil
	}
	return func(ctx context.Context) (link.Proof, error) {
		ctx, cancel := context.WithTimeout(ctx, proofPatience)
		defer cancel()
		p, err := m.Proof(ctx, s.ClusterID)
		return link.Proof{Kind: p.Kind, Data: p.Data}, err
	}
}

// proofPatience is the timeout for one proof.
const proofPatience = 20 * time.Second
