package experiment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
)

// tiny is the program of a trial that makes the calls of the library without the seconds that
// Python takes to start. The test binary runs it when it is called python3.
type tiny struct {
	cluster struct {
		Master     string `json:"master_url"`
		Token      string `json:"session_token"`
		Task       string `json:"task_id"`
		Allocation string `json:"allocation_id"`
		Latest     string `json:"latest_checkpoint"`
	}
	trial struct {
		ID      int `json:"trial_id"`
		Run     int `json:"trial_run_id"`
		HParams struct {
			LearningRate    float64 `json:"learning_rate"`
			Epochs          int     `json:"epochs"`
			SecondsPerEpoch float64 `json:"seconds_per_epoch"`
			Hold            bool    `json:"hold"`
		} `json:"hparams"`
		Config struct {
			Storage struct {
				Path string `json:"storage_path"`
			} `json:"checkpoint_storage"`
		} `json:"config"`
	}
	preempted atomic.Bool
}

// inStorage returns a path in the experiment's directory of the lab's storage.
func (p *tiny) inStorage(name ...string) string {
	return filepath.Join(append([]string{"/determined_shared_fs", p.trial.Config.Storage.Path}, name...)...)
}

// runTiny is the main function of a tiny.
func runTiny() int {
	if len(os.Args) > 1 && os.Args[1] == "-c" {
		return 0 // the prelude probes for the library
	}
	if err := new(tiny).run(); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		return 1
	}
	return 0
}

func (p *tiny) run() error {
	for name, into := range map[string]any{"cluster": &p.cluster, "trial": &p.trial} {
		text, err := os.ReadFile("/run/determined/info/" + name + ".json")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
	}
	if p.trial.HParams.Hold {
		return p.hold()
	}
	alone, err := p.lockTrial()
	if err != nil {
		return err
	}
	defer alone.Close() //nolint:errcheck // it ends with the process
	if err := p.call("POST", "runs/start", map[string]any{"runId": p.trial.ID}, nil); err != nil {
		return err
	}
	go p.awaitPreemption()
	return p.train()
}

// hold writes the identity of the program for the test, and runs until it is killed.
func (p *tiny) hold() error {
	text, err := json.Marshal(holder{p.cluster.Master, p.cluster.Token, p.cluster.Task, p.cluster.Allocation, os.Getenv("DET_RESOURCES_ID"), p.trial.ID})
	if err != nil {
		return err
	}
	path := p.inStorage("holder")
	if err := os.WriteFile(path+".part", text, 0o666); err != nil { //nolint:gosec // the test has another user
		return err
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	<-time.After(patience)
	return nil
}

// lockTrial returns an error, and leaves a file about it, if another run of the trial has not
// ended.
func (p *tiny) lockTrial() (*os.File, error) {
	lock, err := os.OpenFile(p.inStorage(fmt.Sprintf("lock-%d", p.trial.ID)), os.O_CREATE|os.O_RDWR, 0o666) //nolint:gosec // every run may have a user of its own
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		text := fmt.Sprintf("run %d of trial %d began while another one ran", p.trial.Run, p.trial.ID)
		return nil, errors.Join(err, p.write("twice", text))
	}
	return lock, nil
}

// write appends a line to a file that the test reads.
func (p *tiny) write(name, text string) error {
	path := p.inStorage(fmt.Sprintf("%s-%d", name, p.trial.ID))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666) //nolint:gosec // as above
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, text)
	return errors.Join(err, f.Close())
}

// lossOf returns the loss of every run of every experiment for a learning rate.
func lossOf(rate float64, epoch int) float64 {
	return math.Round(1e6*(math.Abs(math.Log10(rate)+2.5)+1/float64(epoch))) / 1e6
}

func (p *tiny) train() error {
	epoch := 0
	if id := p.cluster.Latest; id != "" {
		text, err := os.ReadFile(p.inStorage(id, "epoch"))
		if err != nil {
			return err
		}
		if _, err := fmt.Sscan(string(text), &epoch); err != nil {
			return err
		}
	}
	for epoch < p.trial.HParams.Epochs {
		epoch++
		<-time.After(time.Duration(p.trial.HParams.SecondsPerEpoch * float64(time.Second)))
		loss := lossOf(p.trial.HParams.LearningRate, epoch)
		if err := p.report("training", epoch, map[string]any{"loss": loss}); err != nil {
			return err
		}
		if err := p.report("validation", epoch, map[string]any{"validation_loss": loss, "epochs": epoch}); err != nil {
			return err
		}
		if err := p.save(epoch); err != nil {
			return err
		}
		if p.preempted.Load() {
			return p.call("POST", "allocations/"+p.cluster.Allocation+"/signals/ack_preemption", nil, nil)
		}
	}
	return nil
}

func (p *tiny) report(group string, epoch int, averages map[string]any) error {
	metrics := map[string]any{"trialId": p.trial.ID, "trialRunId": p.trial.Run, "stepsCompleted": epoch, "metrics": map[string]any{"avgMetrics": averages}}
	if err := p.call("POST", fmt.Sprintf("trials/%d/metrics", p.trial.ID), map[string]any{"group": group, "metrics": metrics}, nil); err != nil {
		return err
	}
	return p.write("reported", fmt.Sprint(group, " ", epoch))
}

// save writes a checkpoint, and notes it after the master has stored it.
func (p *tiny) save(epoch int) error {
	id := uuid.NewString()
	dir := p.inStorage(id)
	if err := os.Mkdir(dir, 0o777); err != nil { //nolint:gosec // as above
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "epoch"), fmt.Append(nil, epoch), 0o666); err != nil { //nolint:gosec // as above
		return err
	}
	err := p.call("POST", "checkpoints", map[string]any{
		"uuid": id, "taskId": p.cluster.Task, "allocationId": p.cluster.Allocation, "state": "STATE_COMPLETED",
		"metadata": map[string]any{"steps_completed": epoch}, "resources": map[string]string{"epoch": "2"}, "training": map[string]any{},
	}, nil)
	if err != nil {
		return err
	}
	return p.write("saved", id)
}

// awaitPreemption polls for the preemption signal until the program ends.
func (p *tiny) awaitPreemption() {
	for !p.preempted.Load() {
		var out struct{ Preempt bool }
		if err := p.call("GET", "allocations/"+p.cluster.Allocation+"/signals/preemption?timeout_seconds=60", nil, &out); err != nil {
			<-time.After(time.Second)
			continue
		}
		p.preempted.Store(out.Preempt)
	}
}

// call makes a call like the library: it repeats a call without a response, and one with
// Retry-After. It retries for longer than the storms interrupt the master.
func (p *tiny) call(method, path string, body, into any) (err error) {
	for end := time.Now().Add(patience); ; {
		again := time.Duration(0)
		if again, err = p.callOnce(method, path, body, into); again == 0 || time.Now().After(end) {
			return err
		}
		<-time.After(again)
	}
}

// callOnce makes a call and returns the delay before it must be repeated, or 0.
func (p *tiny) callOnce(method, path string, body, into any) (again time.Duration, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequest(method, p.cluster.Master+"/api/v1/"+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Grpc-Metadata-X-Allocation-Token", "Bearer "+p.cluster.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return time.Second, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	text, err = io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, answer.StatusCode, text)
		wait, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // without it the call is not repeated
		return time.Duration(wait) * time.Second, err
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return 0, err
}
