package fleet

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// Home is the machine that a master runs on. Outside of Google nothing of it is known.
type Home struct{ Metadata metadata.Server }

// askLimit is how long the metadata server may take. It is on the machine, or there is
// none.
const askLimit = 5 * time.Second

// Project is the project that this machine is in.
func (h Home) Project(ctx context.Context) (string, error) {
	return h.require(ctx, "project/project-id", "project", "set provider.project")
}

// Zone is the zone that this machine is in.
func (h Home) Zone(ctx context.Context) (string, error) {
	zone, err := h.require(ctx, "instance/zone", "zone", "set provider.zone")
	return path.Base(zone), err
}

// outsider is the label value that Determined 0.38.1 uses outside of Google.
const outsider = "determined-ai-determined"

// longestValue is how many characters of a machine's name are taken.
const longestValue = 30

// LabelValue is what marks the machines of a master that was not told: its own machine's
// name, and outside of Google a word that all such masters share.
func (h Home) LabelValue(ctx context.Context) string {
	name, err := h.read(ctx, "instance/name")
	if err != nil || name == "" {
		return outsider
	}
	return name[:min(len(name), longestValue)]
}

// addressKeys are the host names that stand for an address of the master's machine, and
// where its metadata has them.
func addressKeys() map[string]string {
	return map[string]string{
		"internal-ip": "instance/network-interfaces/0/ip",
		"external-ip": "instance/network-interfaces/0/access-configs/0/external-ip",
	}
}

// Address is a master's URL as agents reach it.
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

// errEmpty refuses a value that the machine does not have.
var errEmpty = errors.New("it is empty")

// read reads a value. One that is empty does not exist.
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
		Kind: cloud.Invalid, Op: "find this machine's " + what, Fix: fix + ": only a machine of Google's knows its own", Err: err,
	}
}
