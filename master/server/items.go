package server

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/det-deploy/det-deploy/master/api/status"
)

// mostItems limits each list and map of a request that is not in itemBounds, so that new fields are
// limited by default. Packages that store the items may have lower limits.
const mostItems = 10_000

// messages is the prefix of the API's message names.
const messages = "detdeploy.api.v1."

// itemBounds returns the lists and maps of requests with higher limits. Free structures
// (google.protobuf.Struct) have no individual limit; mostValues limits all values of a body.
func itemBounds() map[protoreflect.FullName]int {
	return map[protoreflect.FullName]int{
		messages + "CreateExperimentRequest.model_definition": mostFiles,
		messages + "LaunchCommandRequest.files":               mostFiles,
		messages + "PostContextRequest.files":                 mostFiles,
		messages + "ContextFile.pieces":                       mostValues,
		// A report may contain metrics of many batches, and a checkpoint many files.
		messages + "Metrics.batch_metrics":                       mostValues,
		messages + "Checkpoint.resources":                        mostValues,
		messages + "PatchCheckpoint.OptionalResources.resources": mostValues,
	}
}

func mostItemsOf(f protoreflect.FieldDescriptor) int {
	if most, found := itemBounds()[f.FullName()]; found {
		return most
	}
	return mostItems
}

// checkItems returns an error if a list or map of a request is too long.
func checkItems(in proto.Message) error {
	m := in.ProtoReflect()
	if !mayHoldItems(m.Descriptor()) {
		return nil
	}
	return checkMessage(m, "")
}

func checkMessage(m protoreflect.Message, path string) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		at := path + f.JSONName()
		switch {
		case f.IsMap():
			if err = checkCount(f, v.Map().Len(), at); err == nil && mayHoldItems(f.MapValue().Message()) {
				v.Map().Range(func(_ protoreflect.MapKey, one protoreflect.Value) bool {
					err = checkMessage(one.Message(), at+".")
					return err == nil
				})
			}
		case f.IsList():
			err = checkCount(f, v.List().Len(), at)
			for i := 0; err == nil && mayHoldItems(f.Message()) && i < v.List().Len(); i++ {
				err = checkMessage(v.List().Get(i).Message(), at+".")
			}
		case mayHoldItems(f.Message()):
			err = checkMessage(v.Message(), at+".")
		}
		return err == nil
	})
	return err
}

func checkCount(f protoreflect.FieldDescriptor, n int, at string) error {
	if most := mostItemsOf(f); n > most {
		return status.New(status.InvalidArgument, "%s: must have at most %d entries (has %d); send smaller requests", at, most, n)
	}
	return nil
}

// mayHoldItems reports whether a message may contain lists or maps. m may be nil.
func mayHoldItems(m protoreflect.MessageDescriptor) bool {
	if m == nil || !strings.HasPrefix(string(m.FullName()), messages) {
		return false
	}
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); f.IsList() || f.IsMap() || f.Message() != nil {
			return true
		}
	}
	return false
}
