package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/det-deploy/det-deploy/cloud"
)

// Metadata is what a machine of Amazon's tells about itself.
type Metadata interface {
	GetRegion(ctx context.Context, in *imds.GetRegionInput, o ...func(*imds.Options)) (*imds.GetRegionOutput, error)
	GetMetadata(ctx context.Context, in *imds.GetMetadataInput, o ...func(*imds.Options)) (*imds.GetMetadataOutput, error)
}

// Home is the machine that a master runs on. Outside of Amazon nothing of it is
// known.
type Home struct{ metadata Metadata }

// Here is the machine that this program runs on. AWS_EC2_METADATA_DISABLED says
// that it is not Amazon's.
func Here(ctx context.Context) (Home, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Home{}, &cloud.Error{Kind: cloud.Invalid, Op: "read the AWS configuration", Err: err}
	}
	return At(imds.NewFromConfig(cfg)), nil
}

// At is the machine with a metadata service.
func At(m Metadata) Home { return Home{m} }

// askLimit is how long the metadata service may take. It is on the machine, or
// there is none.
const askLimit = 5 * time.Second

// Region is where this machine stands.
func (h Home) Region(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := h.metadata.GetRegion(ctx, nil)
	if err != nil {
		return "", metadataError("region", "set provider.region", err)
	}
	return out.Region, nil
}

// outsider is the tag value that Determined 0.38.1 uses outside of Amazon.
const outsider = "determined-ai-determined"

// TagValue is what marks the machines of a master that was not told: its own
// instance id, and outside of Amazon a word that all such masters share.
func (h Home) TagValue(ctx context.Context) string {
	id, err := h.readMetadata(ctx, "instance-id")
	if err != nil {
		return outsider
	}
	return id
}

// hostAliases are the host names that stand for an address of the master's machine, its
// own in its network first.
func hostAliases() []string {
	return []string{"local-ipv4", "public-ipv4", "local-hostname", "public-hostname"}
}

// Address is a master's URL as agents reach it.
func (h Home) Address(ctx context.Context, given, scheme string, port int) (string, error) {
	return cloud.MasterURL{Given: given, Scheme: scheme, Port: port, Aliases: hostAliases(), LookUp: h.readMetadata, Unknown: metadataError}.Resolve(ctx)
}

func (h Home) readMetadata(ctx context.Context, what string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := h.metadata.GetMetadata(ctx, &imds.GetMetadataInput{Path: what})
	if err != nil {
		return "", err
	}
	defer func() { _ = out.Content.Close() }()
	text, err := io.ReadAll(io.LimitReader(out.Content, 1<<10))
	if err == nil && len(text) == 0 {
		err = fmt.Errorf("%s is empty", what)
	}
	return strings.TrimSpace(string(text)), err
}

func metadataError(what, fix string, err error) error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "ask this machine's metadata service for its " + what, Fix: fix + ": only a machine of Amazon's knows its own", Err: err,
	}
}
