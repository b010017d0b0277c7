package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/internal/checksum"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// retryPause is the delay between attempts.
const retryPause = time.Second

const (
	// followTimeout is the timeout for downloading a program of about 100 MB.
	followTimeout = 10 * time.Minute
	// trialTimeout is the timeout for running "version" with a new program.
	trialTimeout = 20 * time.Second
	// An agent updates at most followMost times within followWindow. An operator may upgrade and
	// roll back that often; more updates mean that two masters of different versions take turns.
	followMost   = 3
	followWindow = time.Hour
)

// SupersededError is returned by an agent whose program was replaced by the master's. The caller
// executes Program in place of this process; containers keep running.
type SupersededError struct{ Program string }

func (e *SupersededError) Error() string { return "the agent's program was replaced by the master's" }

// followed records the times of recent updates.
type followed struct {
	At []time.Time `json:"at"`
}

// followMaster replaces the agent's program with the master's for this platform if their versions
// differ, and then returns a *SupersededError. If the update fails, it logs a warning and returns
// nil, so that the agent continues with its own version.
func followMaster(ctx context.Context, cfg Config, client *http.Client, w *agentv1.Welcome) error {
	platform := "linux-" + runtime.GOARCH
	wanted := w.GetPrograms()[platform]
	if !cfg.followsMaster() || wanted == "" || w.GetVersion() == cfg.Version {
		return nil
	}
	log := cfg.Log.With("version", cfg.Version, "master_version", w.GetVersion())
	running, err := checksum.File("/proc/self/exe")
	if err != nil || running == wanted {
		return nil //nolint:nilerr // without the running program there is nothing to compare
	}
	err = mayFollow(cfg.Settings.DataDir, time.Now())
	if err == nil {
		err = installProgram(ctx, cfg.Program, programSource(cfg, client, platform), wanted)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		log.Warn("cannot update to the master's version; continuing with the current one", "err", err)
		return nil
	}
	log.Info("updating to the master's version", "program", cfg.Program)
	return &SupersededError{cfg.Program}
}

// followsMaster reports whether the agent updates itself to the master's version.
func (cfg Config) followsMaster() bool {
	return cfg.Program != "" && (cfg.Settings.AutoUpdate || cfg.Settings.Launched())
}

// mayFollow records an update and returns an error if there were too many recently, so that an
// agent between two masters does not update forever.
func mayFollow(dir string, now time.Time) error {
	file := filepath.Join(dir, "followed.json")
	var f followed
	err := atomicfile.ReadJSON(file, "remove it: it only records the agent's updates", &f)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var kept []time.Time
	for _, at := range f.At {
		if now.Sub(at) < followWindow {
			kept = append(kept, at)
		}
	}
	if len(kept) >= followMost {
		return fmt.Errorf("%d updates within %s; check whether masters of different versions take turns", len(kept), followWindow)
	}
	data, err := json.Marshal(followed{append(kept, now)})
	if err != nil {
		return err
	}
	return atomicfile.Write(file, data, 0o600)
}

// programSource returns a function that downloads the program from the master.
func programSource(cfg Config, client *http.Client, platform string) func(context.Context) (io.ReadCloser, error) {
	url := cfg.Settings.Scheme() + "://" + masterAddress(cfg.Settings) + "/binaries/" + platform
	return func(ctx context.Context) (io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("fetch %s: %s", url, resp.Status), resp.Body.Close())
		}
		return resp.Body, nil
	}
}

// installProgram downloads a program, verifies its checksum, runs it once and atomically replaces
// the current one.
func installProgram(ctx context.Context, program string, open func(context.Context) (io.ReadCloser, error), wanted string) error {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	// Another agent that shares the file may have replaced it already.
	if have, err := checksum.File(program); err == nil && have == wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	next, err := atomicfile.Create(program, 0o755)
	if err != nil {
		return err
	}
	defer next.Discard()
	if err := fetchProgram(ctx, next, open, wanted); err != nil {
		return err
	}
	tctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	if err := tryProgram(tctx, next.Name()); err != nil {
		return fmt.Errorf("run the master's program: %w", err)
	}
	return next.Commit()
}

// tryProgram runs "version" with a program that was just written. Exec fails with ETXTBSY while a
// container's process that was forked during the write still has the file open, until its own exec;
// tryProgram retries.
func tryProgram(ctx context.Context, program string) error {
	for {
		out, err := exec.CommandContext(ctx, program, "version").CombinedOutput()
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || wait.For(ctx, retryPause) != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
}

// fetchProgram downloads the program and verifies its checksum.
func fetchProgram(ctx context.Context, to *atomicfile.Pending, open func(context.Context) (io.ReadCloser, error), wanted string) error {
	from, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // opened for reading only
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, h), from); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != wanted {
		return fmt.Errorf("checksum mismatch of the master's program: got SHA-256 %s, want %s", got, wanted)
	}
	return to.Finish()
}
