package program

import "strconv"

// largestVariable limits the size of a variable in bytes. The kernel limits each argument and
// variable to 128 KiB (MAX_ARG_STRLEN) and otherwise fails the exec. Programs of the library read
// trial.json.
const largestVariable = 96 << 10

// buildVariables returns the environment variables that describe the trial. It omits values that are
// too long.
func (t Trial) buildVariables(cfg []byte) []string {
	out := []string{
		"DET_EXPERIMENT_ID=" + strconv.Itoa(t.Experiment),
		"DET_TRIAL_ID=" + strconv.Itoa(t.Trial),
		"DET_TRIAL_RUN_ID=" + strconv.Itoa(t.Run),
		"DET_TRIAL_SEED=" + strconv.FormatInt(t.Seed, 10),
		"DET_STEPS_COMPLETED=" + strconv.FormatInt(t.Steps, 10),
	}
	for _, v := range []struct{ name, value string }{
		{"DET_HPARAMS", string(t.HParams)}, {"DET_EXPERIMENT_CONFIG", string(cfg)}, {"DET_LATEST_CHECKPOINT", t.Checkpoint.UUID},
	} {
		if v.value != "" && len(v.value) <= largestVariable {
			out = append(out, v.name+"="+v.value)
		}
	}
	return out
}
