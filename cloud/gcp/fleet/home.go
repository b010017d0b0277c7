package fleet

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// Home is the machine on which the master runs. Outside of Google Cloud it provides no information.
type Home struct{ Metadata metadata.Server }

// askLimit is the timeout for the metadata server, which is local or does not exist.
const askLimit = 5 * time.Second

// Project returns the project of this machine.
func (h Home) Project(ctx context.Context) (string, error) {
	return h.require(ctx, "project/project-id", "project", "set provider.project")
}

// Zone returns the zone of this machine.
func (h Home) Zone(ctx context.Context) (string, error) {
	zone, err := h.require(ctx, "instance/zone", "zone", "set provider.zone")
	return path.Base(zone), err
}

// outsider is the label value that Determined 0.38.1 uses outside of Google Cloud.
const outsider = "determined-ai-determined"

// longestValue is the number of characters used of an instance's name.
const longestValue = 30

// LabelValue returns the default label value of a master's instances: the name of the master's own
// instance or, outside of Google Cloud, a constant shared by all such masters.
func (h Home) LabelValue(ctx context.Context) string {
	name, err := h.read(ctx, "instance/name")
	if err != nil || name == "" {
		return outsider
	}
	return name[:min(len(name), longestValue)]
}

// addressKeys maps host names that resolve to an address of the master's instance to their metadata
// keys.
func addressKeys() map[string]string {
	return map[string]string{
		"internal-ip": "instance/network-interfaces/0/ip",
		"external-ip": "instance/network-interfaces/0/access-configs/0/external-ip",
	}
}

// Address returns the URL at which agents reach the master.
func (h Home) Address(ctx context.Context, given, scheme string, port int) (string, error) {
	return cloud.MasterURL{
		Given: given, Scheme: scheme, Port: port, Aliases: []string{"internal-ip", "external-ip"}, Unknown: metadataError,
		LookUp: func(ctx context.Context, alias string) (string, error) { return h.read(ctx, addressKeys()[alias]) },
	}.Resolve(ctx)
}

func (h Home) require(ctx context.Context, key, what, fix string) (string, error) {
	text, err := h.read(ctx, key)
	if err != nil {
		return "", metadataError(what, fix, err)
	}
	return text, nil
}

// errEmpty is the error for a value that the machine does not have.
var errEmpty = errors.New("it is empty")

// read returns a metadata value. It returns a NotFound error if the value is empty.
func (h Home) read(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	text, err := h.Metadata.Read(ctx, key)
	if err == nil && text == "" {
		return "", &cloud.Error{Kind: cloud.NotFound, Op: key, Err: errEmpty}
	}
	return text, err
}

func metadataError(what, fix string, err error) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "read the instance metadata: " + what, Fix: fix + "; it is known on Compute Engine instances only", Err: err,
	}
}
