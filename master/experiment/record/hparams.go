package record

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/store"
)

// ReadHparams returns the hyperparameters of a trial as a JSON object.
func (t Trial) ReadHparams(ctx context.Context, r store.Reader) (json.RawMessage, error) {
	if t.Hparams != nil {
		return json.Marshal(t.Hparams)
	}
	d, found, err := Docs().Hparams.Get(ctx, r, Key(t.ID))
	if err != nil {
		return nil, fmt.Errorf("read the hyperparameters of trial %d: %w", t.ID, err)
	}
	if !found {
		return json.RawMessage("{}"), nil
	}
	return d.Value, nil
}

// ShowHparams returns the hyperparameters of a trial as an API message.
func (t Trial) ShowHparams(ctx context.Context, r store.Reader) (*structpb.Struct, error) {
	b, err := t.ReadHparams(ctx, r)
	if err != nil {
		return nil, err
	}
	out := &structpb.Struct{}
	if err := protojson.Unmarshal(b, out); err != nil {
		return nil, fmt.Errorf("show the hyperparameters of trial %d: %w", t.ID, err)
	}
	return out, nil
}

// PutHparams stores the hyperparameters of new trials in batches. It returns an error if one cannot
// be encoded or written.
func PutHparams(tx *store.Tx, all iter.Seq2[int32, map[string]any]) error {
	const atOnce = 50
	var docs []store.Doc[json.RawMessage]
	put := func() error {
		err := Docs().Hparams.PutAll(tx, docs)
		docs = docs[:0]
		return err
	}
	for id, values := range all {
		if len(values) == 0 {
			continue
		}
		b, err := json.Marshal(values)
		if err != nil {
			return fmt.Errorf("write the hyperparameters of trial %d: %w", id, err)
		}
		docs = append(docs, store.Doc[json.RawMessage]{ID: Key(id), Value: b})
		if len(docs) == atOnce {
			if err := put(); err != nil {
				return err
			}
		}
	}
	return put()
}
