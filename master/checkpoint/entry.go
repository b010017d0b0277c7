package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Entry is a checkpoint without its metadata and file names, which may be large. Lists, sorting and
// counts use entries; Get returns the whole record.
type Entry struct {
	Record

	size int64
}

// Bytes returns the total size of the files.
func (e Entry) Bytes() int64 { return e.size }

// entryDoc decodes a part of a Record's document.
type entryDoc struct {
	Record

	Metadata  skipped `json:"metadata"`
	Resources sum     `json:"resources"`
}

// skipped is a value that is not decoded.
type skipped struct{}

// UnmarshalJSON ignores the value.
func (*skipped) UnmarshalJSON([]byte) error { return nil }

// sum is the sum of the numbers in an object.
type sum int64

// UnmarshalJSON adds the numbers. It returns an error if the value is not an object of numbers.
func (s *sum) UnmarshalJSON(data []byte) error {
	var sizes map[string]int64
	if err := json.Unmarshal(data, &sizes); err != nil {
		return fmt.Errorf("read the sizes of files: %w", err)
	}
	*s = sum(Record{Resources: sizes}.Bytes())
	return nil
}

func entryDocs() store.Collection[entryDoc] {
	return store.Collection[entryDoc]{Kind: records().Kind}
}

func entries(docs []store.Doc[entryDoc], err error) ([]Entry, error) {
	if err != nil {
		return nil, err
	}
	all := make([]Entry, 0, len(docs))
	for _, d := range docs {
		all = append(all, Entry{Record: d.Value.Record, size: int64(d.Value.Resources)})
	}
	return all, nil
}

// ListTrials returns the checkpoints of trials, ordered by the time of their reports within each
// trial.
func ListTrials(ctx context.Context, r store.Reader, trials ...int32) ([]Entry, error) {
	keys := make([]string, 0, len(trials))
	for _, trial := range trials {
		keys = append(keys, trialKey(trial))
	}
	return entries(entryDocs().ByParents(ctx, r, keys))
}

// ListExperiment returns all checkpoints of an experiment.
func ListExperiment(ctx context.Context, r store.Reader, experiment int32) ([]Entry, error) {
	trials, err := record.Docs().Trials.IDsByParent(ctx, r, record.Key(experiment))
	if err != nil {
		return nil, err
	}
	return entries(entryDocs().ByParents(ctx, r, trials))
}

// ListAll returns every checkpoint, ordered by the time of their reports.
func ListAll(ctx context.Context, r store.Reader) ([]Entry, error) {
	return entries(entryDocs().All(ctx, r))
}
