package server

import (
	"bytes"
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// mostWait is the time limit of a call in fuzz tests, because some calls wait for others indefinitely.
const mostWait = 200 * time.Millisecond

// FuzzBodies sends bodies to every call that has one. The calls come from the route table, and the seeds
// are derived from their messages, so that none is omitted.
func FuzzBodies(f *testing.F) {
	w := newWhole(f)
	rows := fuzzed(w.routes(), func(r route) bool { return r.in != nil })
	for name, r := range rows {
		f.Add(name, example(f, r.in, 0))
		f.Add(name, example(f, r.in, 3))
	}
	for _, seed := range []string{"", "{}", "null", "[]", `{"config":null}`, "\xff", `{"user":{"username":"\u0000"}}`, `{"a":1e999}`, `{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`} {
		f.Add("POST experiments", seed)
	}
	for _, s := range reportSeeds(w) {
		f.Add(s.route, s.body)
	}
	f.Fuzz(func(t *testing.T, name, body string) {
		r := choose(rows, name)
		w.renew(t)
		for _, token := range w.callers(r) {
			w.askFuzzed(t, r, w.fill(r), token, body)
		}
	})
}

// FuzzQueries calls every reading route with various IDs and parameters.
func FuzzQueries(f *testing.F) {
	w := newWhole(f)
	rows := fuzzed(w.routes(), func(r route) bool { return r.method == http.MethodGet })
	for name := range rows {
		for _, id := range []string{"", "0", "-1", "4294967297", "x", "..", "%00"} {
			f.Add(name, id, "limit=1&offset=-1")
		}
		f.Add(name, "1", "limit=-2147483648&offset=9223372036854775807&sortBy=SORT_BY_NAME&orderBy=ORDER_BY_DESC&states=STATE_ACTIVE")
		f.Add(name, "1", "trialIds=1&group=training&metricName=loss&maxDatapoints=-1&startBatches=9&endBatches=1&timeSeriesFilter=x&metricIds=validation.loss&ids=1&experimentIds=1&periodSeconds=1")
	}
	f.Fuzz(func(t *testing.T, name, id, query string) {
		r := choose(rows, name)
		w.renew(t)
		path := w.fill(r)
		if id != "" {
			path = parameters.ReplaceAllLiteralString(r.fullPath(), url.PathEscape(id))
		}
		for _, token := range w.callers(r) {
			w.askFuzzed(t, r, path+separator(path)+query, token, "")
		}
	})
}

func separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// fuzzed returns the selected routes by method and path.
func fuzzed(all []route, asked func(route) bool) map[string]route {
	rows := map[string]route{}
	for _, r := range all {
		if asked(r) {
			rows[r.method+" "+r.path] = r
		}
	}
	return rows
}

// choose returns the route with a name, or an arbitrary route for an unknown name.
func choose(rows map[string]route, name string) route {
	if r, found := rows[name]; found {
		return r
	}
	names := make([]string, 0, len(rows))
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return rows[names[int(h.Sum32())%len(names)]]
}

// example returns a body with every field set, including nested messages up to a depth.
func example(t testing.TB, d protoreflect.MessageDescriptor, depth int) string {
	t.Helper()
	m := dynamicpb.NewMessage(d)
	fillMessage(m, depth)
	b, err := protojson.Marshal(m)
	if err != nil {
		return "{}" // such as an invalid time
	}
	var small bytes.Buffer
	if err := json.Compact(&small, b); err != nil {
		t.Fatal(err)
	}
	return small.String()
}

func fillMessage(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.IsMap():
		case f.IsList() && (f.Message() == nil || depth > 0):
			list := m.Mutable(f).List()
			list.Append(exampleValue(f, list.NewElement, depth))
		case f.Message() == nil:
			m.Set(f, exampleValue(f, nil, depth))
		case depth > 0 && !f.IsList():
			fillMessage(m.Mutable(f).Message(), depth-1)
		}
	}
}

func exampleValue(f protoreflect.FieldDescriptor, message func() protoreflect.Value, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("1")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte("1"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(0.5)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(0.5)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(f.Enum().Values().Len() - 1).Number())
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(1)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(1)
	case protoreflect.MessageKind, protoreflect.GroupKind:
		v := message()
		fillMessage(v.Message(), depth-1)
		return v
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		fallthrough
	default:
		return protoreflect.ValueOfInt32(1)
	}
}

// fuzzSeed is a valid body for a route.
type fuzzSeed struct{ route, body string }

// reportSeeds returns bodies that reach deep into the calls of experiments.
func reportSeeds(w *whole) []fuzzSeed {
	config, _ := json.Marshal(strings.TrimSpace(wholeConfig)) // it is a constant
	asha, _ := json.Marshal("entrypoint: x\nsearcher: {name: adaptive_asha, metric: loss, max_trials: 4, max_time: 9, time_metric: epochs}\n")
	metrics := `{"metrics":{"trialId":` + w.ids["trial"] + `,"trialRunId":1,"stepsCompleted":10,"reportTime":"2026-11-21T05:00:00Z","metrics":{"avgMetrics":{"loss":0.5,"n":"NaN","epochs":1},"batchMetrics":[{"loss":1}]}},"group":"validation"}`
	return []fuzzSeed{
		{"POST experiments", `{"config":` + string(config) + `,"modelDefinition":[{"path":"a/b.py","type":48,"mode":420,"mtime":"1","content":"AQI="}],"activate":true,"validateOnly":true}`},
		{"POST experiments", `{"config":` + string(asha) + `,"validateOnly":true,"parentId":1}`},
		{"POST preview-hp-search", `{"config":{"searcher":{"name":"random","metric":"m","max_trials":3},"hyperparameters":{"a":{"type":"int","minval":0,"maxval":9}},"entrypoint":"x"},"seed":7}`},
		{"POST trials/{trial}/metrics", metrics},
		{"POST trials/{trial}/validation_metrics", strings.Replace(metrics, `"metrics"`, `"validationMetrics"`, 1)},
		{"POST trials/{trial}/training_metrics", strings.Replace(metrics, `"metrics"`, `"trainingMetrics"`, 1)},
		{"POST checkpoints", strings.NewReplacer("1.t.1", w.ids["allocation"], "1.t", w.ids["task"]).Replace(reportBody(checkpointA, "10"))},
		{"PATCH checkpoints", `{"checkpoints":[{"uuid":"` + checkpointA + `","resources":{"resources":{"a":"1"}}}]}`},
		{"POST runs/start", `{"runId":` + w.ids["trial"] + `,"checkpointStorage":{"type":"shared_fs","host_path":"/x"}}`},
		{"POST trials/{trial}/progress", `{"progress":0.5}`},
		{"PATCH experiments/{experiment}", `{"name":"n","notes":"x","labels":["a"],"resources":{"maxSlots":1,"weight":2,"priority":3},"checkpointStorage":{"saveExperimentBest":1}}`},
		{"POST commands", `{"config":{"entrypoint":["ls"],"resources":{"slots":0}},"files":[{"path":"a","type":48,"content":"AQI="}]}`},
		{"POST templates/{template}", `{"config":{"max_restarts":1}}`},
	}
}

// callers returns the tokens of callers with access to a route.
func (w *whole) callers(r route) []string {
	switch r.access {
	case open:
		return []string{""}
	case admin:
		return []string{w.admin}
	case allocation:
		return []string{w.trial}
	case either:
		return []string{w.trial, w.user}
	case user, login, person:
	}
	return []string{w.user}
}

// renew creates another experiment if the last one has ended.
func (w *whole) renew(t *testing.T) {
	t.Helper()
	if v, err := w.x.Get(w.experiment); err != nil || v.State != "ACTIVE" {
		w.begin(t)
	}
}

// askFuzzed checks that a call returns a response or an error in its format.
func (w *whole) askFuzzed(t *testing.T, r route, path, token, body string) {
	t.Helper()
	at, err := url.ParseRequestURI(path)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), mostWait)
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, r.method, "/", strings.NewReader(body))
	req.URL = at
	header, text := "Authorization", "Bearer "+token
	if token == w.trial {
		header = "Grpc-Metadata-x-allocation-token"
	}
	if token != "" {
		req.Header.Set(header, text)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	if ctx.Err() != nil || rec.Code == http.StatusServiceUnavailable {
		return // it waits for others
	}
	if rec.Code >= 500 && rec.Code != http.StatusNotImplemented {
		t.Errorf("%s %s %q: got %d %s, want an answer or a refusal", r.method, path, body, rec.Code, rec.Body)
	}
	if r.file == "" && !r.streams && strings.HasPrefix(path, prefix) && rec.Code < 300 && !json.Valid(rec.Body.Bytes()) {
		t.Errorf("%s %s %q: got %d %s, which is no JSON", r.method, path, body, rec.Code, rec.Body)
	}
}
