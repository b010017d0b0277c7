package spec_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// BenchmarkConfiguration is what is done with the configuration of one short task: read, completed, stored,
// shown to who submitted it and read again when it starts.
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
