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

// Machine is what an agent asks of the launched machine that it runs on.
type Machine interface {
	// Proof proves to a cluster which machine this is.
	Proof(ctx context.Context, cluster string) (machine.Proof, error)
	// Notice waits for the first notice after number after; found is false when
	// none came for a while.
	Notice(ctx context.Context, after int64) (n machine.Notice, found bool, err error)
}

// machineOf is nil for a static agent.
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

// selfFile keeps what a launched machine knows of itself.
const selfFile = "machine.json"

// self is what a launched machine knows of itself over restarts.
type self struct {
	// Instance is which machine this is. Everything else of another machine,
	// from whose disk this one was copied, is not this one's.
	Instance string `json:"instance"`
	// Prepared says that the machine was set up, Failure why it could not be;
	// it is tried once.
	Prepared bool   `json:"prepared,omitempty"`
	Failure  string `json:"failure,omitempty"`
}

// identifyMachine asks the machine which one it is until it answers. A disk that was
// another machine's is cleared of what that one was told.
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
			return self{}, fmt.Errorf("forget what was another machine's: %w", err)
		}
	}
	now := self{Instance: proof.Instance}
	return now, writeSelf(s.DataDir, now)
}

// askProof repeats the question: the unit that answers may start after this one.
func askProof(ctx context.Context, m Machine, s config.Agent, log *slog.Logger) (machine.Proof, error) {
	told := ""
	for {
		p, err := m.Proof(ctx, s.ClusterID)
		if err == nil && p.Instance == "" {
			err = errors.New("ask this machine for a proof of its identity: it does not name itself")
		}
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		if err.Error() != told {
			told = err.Error()
			log.Warn("the machine does not say which one it is, asking again", "err", err)
		}
		if err := wait.For(ctx, retryPause); err != nil {
			return p, err
		}
	}
}

func readSelf(dir string) (self, error) {
	var s self
	err := atomicfile.ReadJSON(filepath.Join(dir, selfFile), "remove it: the agent then joins as the machine that it is on", &s)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("read what this machine knows of itself: %w", err)
	}
	return s, nil
}

func writeSelf(dir string, s self) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, selfFile), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write what this machine knows of itself: %w", err)
	}
	return nil
}

func credentialFile(s config.Agent) string { return filepath.Join(s.DataDir, "credential") }

// proveWith is nil for a static agent.
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

// proofPatience is how long a machine may take to prove itself.
const proofPatience = 20 * time.Second
