package container

import (
	"cmp"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Images holds the task image by device type. An empty one means the image that the client or task
// requests.
type Images struct {
	CPU  string `yaml:"cpu" doc:"Image without GPUs"`
	CUDA string `yaml:"cuda" doc:"Image with NVIDIA GPUs; gpu is an older name"`
	ROCm string `yaml:"rocm" doc:"Image with AMD GPUs"`
}

type imageObject struct {
	CPU  string `yaml:"cpu"`
	CUDA string `yaml:"cuda"`
	GPU  string `yaml:"gpu"`
	ROCm string `yaml:"rocm"`
}

// UnmarshalDocument reads one image for all device types, or one for each.
func (i *Images) UnmarshalDocument(v document.Value) {
	if v.IsText() {
		var s string
		if v.Decode(&s) {
			*i = Images{CPU: s, CUDA: s, ROCm: s}
		}
		return
	}
	var o imageObject
	if !v.Decode(&o) {
		return
	}
	if o.GPU != "" && o.CUDA != "" {
		v.Complain("has both gpu and cuda, which are the same; keep cuda", "")
		return
	}
	*i = Images{CPU: o.CPU, CUDA: cmp.Or(o.CUDA, o.GPU), ROCm: o.ROCm}
}

// MarshalDocument returns one image for each device type.
func (i Images) MarshalDocument() any {
	if i == (Images{}) {
		return nil
	}
	if i.CPU == i.CUDA && i.CPU == i.ROCm {
		return i.CPU
	}
	return imageObjectOut(i)
}

type imageObjectOut Images

// DocumentShape implements document.Shaper.
func (Images) DocumentShape() string { return "text, or {cpu, cuda, rocm}" }
