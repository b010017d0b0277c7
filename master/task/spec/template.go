package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Overlay merges a client's configuration over a template, which is JSON: the client's values take
// precedence, null is treated as omitted, and lists of variables, mounts, devices and ports are joined.
// Settings of the template that commands do not have are ignored and named in the warnings. It returns a
// *DecodeError.
func Overlay(name string, template []byte, over *structpb.Struct) (*structpb.Struct, []string, error) {
	lower, warnings, err := decodeTemplate(name, template)
	if err != nil {
		return nil, nil, err
	}
	upper, err := Decode(over)
	if err != nil {
		return nil, nil, err
	}
	c := lower // lists and strings of lower are shared
	if err := decodeOver(over, &c); err != nil {
		return nil, nil, err
	}
	if err := joinParts(&c, lower, upper); err != nil {
		return nil, nil, err
	}
	data, err := Store(c)
	if err != nil {
		return nil, nil, err
	}
	out := &structpb.Struct{}
	if err := out.UnmarshalJSON(data); err != nil {
		return nil, nil, fmt.Errorf("merge the configuration with its template: %w", err)
	}
	return out, warnings, nil
}

// decodeTemplate decodes the settings of a template that commands have.
func decodeTemplate(name string, template []byte) (Config, []string, error) {
	c := Default()
	d, err := document.Parse(template, "")
	if err != nil {
		return c, nil, &DecodeError{document.Errors{{Text: fmt.Sprintf("template '%s': %v", excerpt.Of(name), err)}}}
	}
	var unknown []string
	wrong := slices.DeleteFunc(d.Decode(&c), func(p document.Problem) bool {
		if p.Unknown {
			unknown = append(unknown, p.Path)
		}
		return p.Unknown
	})
	if len(wrong) > 0 {
		for i := range wrong {
			wrong[i].Text = fmt.Sprintf("%s, in template '%s'", wrong[i].Text, excerpt.Of(name))
		}
		return c, nil, &DecodeError{withoutLines(wrong)}
	}
	unknown = append(unknown, c.Resources.dropForeign("resources")...)
	if len(unknown) == 0 {
		return c, nil, nil
	}
	slices.Sort(unknown)
	return c, []string{excerpt.Format("settings of template '%s' without effect on commands: %s", name, strings.Join(unknown, ", "))}, nil
}

// dropForeign removes the settings that commands must not have, and returns their paths.
func (r *Resources) dropForeign(at string) (dropped []string) {
	if r.IsSingleNode != nil {
		dropped = append(dropped, at+".is_single_node")
	}
	if r.NativeParallel {
		dropped = append(dropped, at+".native_parallel")
	}
	r.IsSingleNode, r.NativeParallel = nil, false
	return dropped
}

// decodeOver decodes a client's configuration, which is known to be valid, over c.
func decodeOver(over *structpb.Struct, c *Config) error {
	if over == nil {
		return nil
	}
	data, err := over.MarshalJSON()
	if err != nil {
		return fmt.Errorf("merge the configuration with its template: %w", err)
	}
	d, err := document.Parse(data, "")
	if err != nil {
		return fmt.Errorf("merge the configuration with its template: %w", err)
	}
	return d.Decode(c).Err()
}

// joinParts joins the parts that are not simply replaced.
func joinParts(c *Config, lower, upper Config) error {
	below, above, n := lower.Environment, upper.Environment, &c.Environment
	n.Image = container.Images{
		CPU:  cmp.Or(above.Image.CPU, below.Image.CPU),
		CUDA: cmp.Or(above.Image.CUDA, below.Image.CUDA),
		ROCm: cmp.Or(above.Image.ROCm, below.Image.ROCm),
	}
	n.Variables = container.Environment{
		CPU:  slices.Concat(below.Variables.CPU, above.Variables.CPU),
		CUDA: slices.Concat(below.Variables.CUDA, above.Variables.CUDA),
		ROCm: slices.Concat(below.Variables.ROCm, above.Variables.ROCm),
	}
	if n.Ports = maps.Clone(below.Ports); n.Ports == nil {
		n.Ports = above.Ports
	} else {
		maps.Copy(n.Ports, above.Ports)
	}
	n.ProxyPorts = slices.Clone(above.ProxyPorts)
	for _, p := range below.ProxyPorts {
		if !slices.ContainsFunc(n.ProxyPorts, func(o ProxyPort) bool { return o.Port == p.Port }) {
			n.ProxyPorts = append(n.ProxyPorts, p)
		}
	}
	c.BindMounts = joinMounts(upper.BindMounts, lower.BindMounts, cmp.Or(c.WorkDir, DefaultWorkDir))
	c.Resources.Devices = joinDevices(upper.Resources.Devices, lower.Resources.Devices)
	var err error
	n.PodSpec, err = overlayRaw(below.PodSpec, above.PodSpec)
	return err
}

// overlayRaw merges one raw part over another.
func overlayRaw(below, above document.Raw) (document.Raw, error) {
	switch {
	case above.IsZero():
		return below, nil
	case below.IsZero():
		return above, nil
	}
	text, err := document.Overlay(below.JSON(), above.JSON())
	if err != nil {
		return above, &DecodeError{document.Errors{{Path: "environment.pod_spec", Text: err.Error()}}}
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return above, fmt.Errorf("merge the pod spec with that of the template: %w", err)
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return above, fmt.Errorf("merge the pod spec with that of the template: %w", err)
	}
	return document.RawJSON(data)
}
