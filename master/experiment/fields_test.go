package experiment

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/program"
)

const (
	plainSearch = "searcher: {name: single, metric: loss}\n"
	ashaSearch  = "searcher: {name: adaptive_asha, metric: loss, max_trials: 20, time_metric: epochs, max_time: 64%s}\n"
	lr          = "hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n"
)

// fieldRow is a configuration with a setting, and the same configuration without it.
type fieldRow struct {
	with, without string
	// program reports that only the program in the container reads the setting.
	program bool
}

// inSection returns a row for a setting of a section.
func inSection(section, value string) fieldRow {
	return fieldRow{with: section + ": {" + value + "}\n" + plainSearch, without: plainSearch}
}

func inSearch(value string) fieldRow {
	return fieldRow{with: fmt.Sprintf(ashaSearch, ", "+value), without: fmt.Sprintf(ashaSearch, "")}
}

func inStorage(kind, value string) fieldRow {
	without := "checkpoint_storage: {type: " + kind + "}\n" + plainSearch
	return fieldRow{with: strings.Replace(without, "}", ", "+value+"}", 1), without: without}
}

func inList(key, item, value string) fieldRow {
	return fieldRow{with: key + ": [{" + item + ", " + value + "}]\n" + plainSearch, without: key + ": [{" + item + "}]\n" + plainSearch}
}

func inEnvironment(list, item, value string) fieldRow {
	return fieldRow{with: "environment: {" + list + ": [{" + item + ", " + value + "}]}\n" + plainSearch, without: "environment: {" + list + ": [{" + item + "}]}\n" + plainSearch}
}

func atTop(line string) fieldRow {
	return fieldRow{with: line + "\n" + plainSearch, without: plainSearch}
}

func forProgram(r fieldRow) fieldRow {
	r.program = true
	return r
}

// fieldRows returns a value for every setting of an experiment.
func fieldRows() map[string]fieldRow {
	rows := map[string]fieldRow{
		"name": atTop("name: other"), "description": atTop("description: d"), "entrypoint": {with: plainSearch + "entrypoint: other\n", without: plainSearch, program: true},
		"workspace": atTop("workspace: gone"), "project": atTop("project: gone"), "labels": atTop("labels: [a]"),
		"data": forProgram(atTop("data: {a: 1}")), "debug": forProgram(atTop("debug: true")), "hyperparameters": atTop("hyperparameters: {a: 1}"),
		"reproducibility.experiment_seed": {with: "reproducibility: {experiment_seed: 7}\n" + lr + plainSearch, without: lr + plainSearch},
		"max_restarts":                    atTop("max_restarts: 3"), "preemption_timeout": atTop("preemption_timeout: 7"),
		"retention_policy.log_retention_days": inSection("retention_policy", "log_retention_days: 7"),
		"checkpoint_policy":                   forProgram(atTop("checkpoint_policy: all")),
		"min_checkpoint_period":               forProgram(atTop("min_checkpoint_period: {batches: 7}")), "min_validation_period": forProgram(atTop("min_validation_period: {batches: 7}")),
		"perform_initial_validation": forProgram(atTop("perform_initial_validation: true")),
		"records_per_epoch":          forProgram(atTop("records_per_epoch: 7")), "scheduling_unit": forProgram(atTop("scheduling_unit: 7")),
		"log_policies[].name": inList("log_policies", "pattern: x, action: cancel_retries", "name: n"), "log_policies[].pattern": atTop("log_policies: [{name: n, pattern: x}]"),
		"log_policies[].action":        inList("log_policies", "name: n, pattern: x", "action: cancel_retries"),
		"bind_mounts[].host_path":      atTop("bind_mounts: [{host_path: /a, container_path: b}]"),
		"bind_mounts[].container_path": {with: "bind_mounts: [{host_path: /a, container_path: b}]\n" + plainSearch, without: "bind_mounts: [{host_path: /a, container_path: c}]\n" + plainSearch},
		"bind_mounts[].read_only":      inList("bind_mounts", "host_path: /a, container_path: b", "read_only: true"),
		"bind_mounts[].propagation":    inList("bind_mounts", "host_path: /a, container_path: b", "propagation: rshared"),
	}
	for _, key := range []string{"tensorboard_storage", "data_layer", "integrations", "security", "internal", "pbs", "slurm"} {
		rows[key] = atTop(key + ": {a: 1}")
	}
	for key, value := range map[string]string{
		"slots_per_trial": "3", "resource_pool": "aux", "priority": "7", "weight": "2", "max_slots": "7", "shm_size": "7m", "is_single_node": "true", "native_parallel": "true",
		"agent_label": "a", "slots": "1",
	} {
		rows["resources."+key] = inSection("resources", key+": "+value)
	}
	device := "host_path: /dev/a, container_path: /dev/b"
	rows["resources.devices[].host_path"] = inSection("resources", "devices: [{"+device+"}]")
	rows["resources.devices[].container_path"] = rows["resources.devices[].host_path"]
	rows["resources.devices[].mode"] = fieldRow{with: "resources: {devices: [{" + device + ", mode: r}]}\n" + plainSearch, without: "resources: {devices: [{" + device + "}]}\n" + plainSearch}
	for key, value := range map[string]string{"enabled": "true", "begin_on_batch": "7", "end_after_batch": "7", "sync_timings": "false"} {
		rows["profiling."+key] = forProgram(inSection("profiling", key+": "+value))
	}
	for key, value := range map[string]string{
		"aggregation_frequency": "7", "average_aggregated_gradients": "false", "average_training_metrics": "false", "gradient_compression": "true", "mixed_precision": "O1",
		"tensor_fusion_threshold": "7", "tensor_fusion_cycle_time": "7", "auto_tune_tensor_fusion": "true", "grad_updates_size_file": "f",
	} {
		rows["optimizations."+key] = forProgram(inSection("optimizations", key+": "+value))
	}
	addEnvironment(rows)
	addSearcher(rows)
	addStorage(rows)
	return rows
}

func addEnvironment(rows map[string]fieldRow) {
	for key, value := range map[string]string{
		"image": "a", "environment_variables": "[A=b]", "ports": "{a: 7000}", "force_pull_image": "true", "add_capabilities": "[SYS_PTRACE]", "drop_capabilities": "[CHOWN]",
		"pod_spec": "{spec: {a: 1}}",
	} {
		rows["environment."+key] = inSection("environment", key+": "+value)
	}
	for _, key := range []string{"username", "password", "auth", "email", "serveraddress", "identitytoken", "registrytoken"} {
		rows["environment.registry_auth."+key] = inSection("environment", "registry_auth: {"+key+": a}")
	}
	rows["environment.proxy_ports[].proxy_port"] = inSection("environment", "proxy_ports: [{proxy_port: 7000}]")
	for _, key := range []string{"proxy_tcp", "unauthenticated", "default_service_id"} {
		rows["environment.proxy_ports[]."+key] = inEnvironment("proxy_ports", "proxy_port: 7000", key+": true")
	}
}

func addSearcher(rows map[string]fieldRow) {
	for key, value := range map[string]string{
		"smaller_is_better": "false", "source_trial_id": "77", "source_checkpoint_uuid": "gone", "max_concurrent_trials": "3", "divisor": "2", "max_rungs": "2", "mode": "aggressive",
		"bracket_rungs": "[1]", "stop_once": "true", "budget": "{}", "train_stragglers": "true", "unit": "batches", "max_length": "{batches: 7}", "num_rungs": "2",
	} {
		rows["searcher."+key] = inSearch(key + ": " + value)
	}
	asha := fmt.Sprintf(ashaSearch, "")
	rows["searcher.name"] = fieldRow{with: "searcher: {name: random, metric: loss, max_trials: 2}\n", without: plainSearch}
	rows["searcher.metric"] = fieldRow{with: "searcher: {name: single, metric: other}\n", without: plainSearch}
	for key, change := range map[string][2]string{"max_trials": {"20", "21"}, "time_metric": {"epochs", "batches"}, "max_time": {"64", "65"}} {
		rows["searcher."+key] = fieldRow{with: strings.Replace(asha, key+": "+change[0], key+": "+change[1], 1), without: asha}
	}
}

func addStorage(rows map[string]fieldRow) {
	at := func(key string, r fieldRow) { rows["checkpoint_storage."+key] = r }
	at("type", fieldRow{with: "checkpoint_storage: {type: gcs, bucket: b}\n" + plainSearch, without: "checkpoint_storage: {type: s3, bucket: b}\n" + plainSearch})
	const shared, s3, azure = "shared_fs, host_path: /a", "s3, bucket: b", "azure, container: c, account_url: u"
	for _, key := range []string{"save_experiment_best", "save_trial_best", "save_trial_latest"} {
		at(key, inStorage(shared, key+": 7"))
	}
	at("host_path", fieldRow{with: "checkpoint_storage: {type: shared_fs, host_path: /b}\n" + plainSearch, without: "checkpoint_storage: {type: shared_fs, host_path: /a}\n" + plainSearch})
	for key, value := range map[string]string{"storage_path": "s", "propagation": "rshared", "container_path": "/c", "checkpoint_path": "s", "tensorboard_path": "t"} {
		at(key, inStorage(shared, key+": "+value))
	}
	at("bucket", fieldRow{with: "checkpoint_storage: {type: s3, bucket: c}\n" + plainSearch, without: "checkpoint_storage: {type: s3, bucket: b}\n" + plainSearch})
	at("prefix", inStorage(s3, "prefix: p"))
	at("endpoint_url", inStorage(s3, "endpoint_url: http://s"))
	for _, key := range []string{"access_key", "secret_key"} {
		both := "checkpoint_storage: {type: s3, bucket: b, access_key: a, secret_key: s}\n" + plainSearch
		at(key, fieldRow{with: strings.Replace(both, key+": ", key+": other-", 1), without: both, program: true})
	}
	at("container", fieldRow{with: "checkpoint_storage: {type: " + strings.Replace(azure, "c,", "d,", 1) + "}\n" + plainSearch, without: "checkpoint_storage: {type: " + azure + "}\n" + plainSearch})
	at("account_url", fieldRow{with: "checkpoint_storage: {type: azure, container: c, account_url: v}\n" + plainSearch, without: "checkpoint_storage: {type: " + azure + "}\n" + plainSearch})
	at("credential", forProgram(inStorage(azure, "credential: a")))
	at("connection_string", fieldRow{with: "checkpoint_storage: {type: azure, container: c, connection_string: v}\n" + plainSearch, without: "checkpoint_storage: {type: " + azure + "}\n" + plainSearch})
}

// fieldsOf returns the path of every setting of a type. Types that decode themselves count as one
// setting.
func fieldsOf(t reflect.Type, at string) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		inner, path := f.Type, at+key
		for inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			inner, path = inner.Elem(), path+"[]"
		}
		if inner.Kind() == reflect.Struct && !slices.Contains(wholeTypes(), inner) {
			out = append(out, fieldsOf(inner, path+".")...)
			continue
		}
		out = append(out, path)
	}
	return out
}

func wholeTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[document.Raw](), reflect.TypeFor[document.Secret](), reflect.TypeFor[config.Entrypoint](), reflect.TypeFor[config.Length](), reflect.TypeFor[config.MaxLength](),
		reflect.TypeFor[container.Images](), reflect.TypeFor[container.Environment](),
	}
}

// judged is the effect of a configuration on the master and on the program.
type judged struct{ master, program, warnings, refusal string }

func (w *world) judge(text string) judged {
	w.Helper()
	if !strings.Contains(text, "entrypoint") {
		text += "entrypoint: x\n"
	}
	p, err := w.x.planExperiment(w.Context(), Order{By: root(), Config: text})
	if err != nil {
		return judged{refusal: err.Error()}
	}
	// Random values are not an effect of a setting.
	p.record.JobID = ""
	if strings.HasPrefix(p.record.Name, "Experiment (") {
		*p.config.Name, p.record.Name = "", ""
	}
	warnings := strings.Join(p.record.Warnings, "\n")
	p.record.Warnings = nil
	order := orderOf(p.record, p.config)
	run, err := program.Trial{Config: p.config, Defaults: container.Default(), Experiment: 1, Trial: 1, Run: 1, HParams: []byte("{}")}.Program()
	if err != nil {
		w.Fatal(err)
	}
	run.Files, run.Variables, run.TrialInfo = nil, nil, nil // these contain the whole configuration
	return judged{
		master:  fmt.Sprintf("%s\n%+v\n%s\n%s\n%s\n%s\n%d", asText(p.record), order, asText(run), asText(p.config.Search()), asText(p.config.LogPolicies), storageText(p.config), *p.config.MaxRestarts),
		program: asText(p.config.ShowToTrial()), warnings: warnings,
	}
}

// storageText returns the storage of checkpoints without keys.
func storageText(x config.Experiment) string {
	v := reflect.ValueOf(x.CheckpointStorage.Typed())
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return fmt.Sprintf("%s %+v", v.Type().Field(i).Name, v.Field(i).Elem().Interface())
		}
	}
	return ""
}

func asText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// Every setting has an effect, causes a warning, or is refused.
func TestEverySettingHasAnEffectOrWarning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rows := fieldRows()
	for _, path := range fieldsOf(reflect.TypeFor[config.Experiment](), "") {
		r, found := rows[path]
		delete(rows, path)
		if !found {
			t.Errorf("%s: got no value to try; add a row", path)
			continue
		}
		with, without := w.judge(r.with), w.judge(r.without)
		key := path[strings.LastIndexByte(path, '.')+1:]
		switch named := strings.Contains(with.warnings, key) && !strings.Contains(without.warnings, key); {
		case without.refusal != "":
			t.Errorf("%s: without it: %s", path, without.refusal)
		case with.refusal != "" && !strings.Contains(with.refusal, key) && !strings.Contains(with.refusal, "not found"):
			t.Errorf("%s: it is refused, and not by its name: %s", path, with.refusal)
		case with.refusal != "", named:
		case r.program && with.program == without.program:
			t.Errorf("%s: the program does not see it", path)
		case !r.program && with.master == without.master:
			t.Errorf("%s: nothing uses it, and no warning names it (%q)", path, with.warnings)
		}
	}
	for path := range rows {
		t.Errorf("%s: there is no such setting", path)
	}
}
