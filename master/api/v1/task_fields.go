package apiv1

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// FillTask sets the fields that a message for one kind of task, such as Shell, has in common with Command.
func FillTask(to proto.Message, from *Command) {
	out := to.ProtoReflect()
	fields := out.Descriptor().Fields()
	from.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if own := fields.ByName(f.Name()); own != nil {
			out.Set(own, value)
		}
		return true
	})
}
