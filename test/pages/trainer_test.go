package pages_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"time"
)

// trainer is the program of a trial. The test binary runs it when it is called python3, so that no Python
// has to start.
type trainer struct {
	cluster struct {
		Master string `json:"master_url"`
		Token  string `json:"session_token"`
	}
	trial struct {
		ID      int `json:"trial_id"`
		Run     int `json:"trial_run_id"`
		HParams struct {
			Rate    float64 `json:"rate"`
			Batches int     `json:"batches"`
			Pause   float64 `json:"pause"`
		} `json:"hparams"`
	}
}

// runTrainer is the main function of a trainer.
func runTrainer() int {
	if len(os.Args) > 1 && os.Args[1] == "-c" {
		return 0 // the prelude probes for the library
	}
	if err := new(trainer).run(); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR:", err)
		return 1
	}
	return 0
}

func (p *trainer) run() error {
	for name, into := range map[string]any{"cluster": &p.cluster, "trial": &p.trial} {
		text, err := os.ReadFile("/run/determined/info/" + name + ".json")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, into); err != nil {
			return err
		}
	}
	for batch := 10; batch <= p.trial.HParams.Batches; batch += 10 {
		loss := math.Exp(-float64(batch)*p.trial.HParams.Rate) + 0.02*math.Sin(float64(batch))
		fmt.Printf("INFO: batch %d: loss %.4f\n", batch, loss) //nolint:forbidigo // it is the log of the trial
		if err := p.report("training", batch, map[string]any{"loss": loss}); err != nil {
			return err
		}
		if err := p.report("validation", batch, map[string]any{"validation_loss": 1.1 * loss}); err != nil {
			return err
		}
		<-time.After(time.Duration(p.trial.HParams.Pause * float64(time.Second)))
	}
	return nil
}

func (p *trainer) report(group string, batch int, averages map[string]any) error {
	text, err := json.Marshal(map[string]any{"group": group, "metrics": map[string]any{
		"trialId": p.trial.ID, "trialRunId": p.trial.Run, "stepsCompleted": batch, "metrics": map[string]any{"avgMetrics": averages},
	}})
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/api/v1/trials/%d/metrics", p.cluster.Master, p.trial.ID), bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Grpc-Metadata-X-Allocation-Token", "Bearer "+p.cluster.Token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if text, err = io.ReadAll(answer.Body); err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("report metrics: %d %s", answer.StatusCode, text)
	}
	return err
}
