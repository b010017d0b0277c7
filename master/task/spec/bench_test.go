package spec_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// BenchmarkConfiguration measures the processing of a short task's configuration: it is decoded,
// completed, stored, shown to the submitter and loaded again at the start.
func BenchmarkConfiguration(b *testing.B) {
	sent, err := structpb.NewStruct(map[string]any{"entrypoint": []any{"true"}, "resources": map[string]any{"slots": 1}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := spec.Decode(sent)
		if err == nil {
			c, _, err = spec.Complete(c, container.Default())
		}
		if err != nil {
			b.Fatal(err)
		}
		if _, err := spec.Show(c, 42); err != nil {
			b.Fatal(err)
		}
		stored, err := spec.Store(c)
		if err == nil {
			_, err = spec.Load(stored)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
