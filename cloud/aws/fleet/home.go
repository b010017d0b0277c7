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

// Metadata is the part of the instance metadata API that Home uses.
type Metadata interface {
	GetRegion(ctx context.Context, in *imds.GetRegionInput, o ...func(*imds.Options)) (*imds.GetRegionOutput, error)
	GetMetadata(ctx context.Context, in *imds.GetMetadataInput, o ...func(*imds.Options)) (*imds.GetMetadataOutput, error)
}

// Home is the machine on which the master runs. Outside of EC2 it provides no information.
type Home struct{ metadata Metadata }

// Here returns the machine on which this program runs. AWS_EC2_METADATA_DISABLED disables the
// metadata service.
func Here(ctx context.Context) (Home, error) {
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return Home{}, &cloud.Error{Kind: cloud.Invalid, Op: "read the AWS configuration", Err: err}
	}
	return At(imds.NewFromConfig(cfg)), nil
}

// At returns the machine with a metadata service.
func At(m Metadata) Home { return Home{m} }

// askLimit is the timeout for the metadata service, which is local or does not exist.
const askLimit = 5 * time.Second

// Region returns the region of this machine.
func (h Home) Region(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	out, err := h.metadata.GetRegion(ctx, nil)
	if err != nil {
		return "", metadataError("region", "set provider.region", err)
	}
	return out.Region, nil
}

// outsider is the tag value that Determined 0.38.1 uses outside of EC2.
const outsider = "determined-ai-determined"

// TagValue returns the default tag value of a master's instances: the master's own instance ID or,
// outside of EC2, a constant shared by all such masters.
func (h Home) TagValue(ctx context.Context) string {
	id, err := h.readMetadata(ctx, "instance-id")
	if err != nil {
		return outsider
	}
	return id
}

// hostAliases returns the host names that resolve to an address of the master's instance, the
// private address first.
func hostAliases() []string {
	return []string{"local-ipv4", "public-ipv4", "local-hostname", "public-hostname"}
}

// Address returns the URL at which agents reach the master.
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
		Kind: cloud.Invalid, Op: "read the instance metadata: " + what, Fix: fix + "; it is known on EC2 instances only", Err: err,
	}
}
