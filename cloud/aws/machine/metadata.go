package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/cloud/host"
)

// Metadata is a client of the instance metadata service. It uses IMDSv2 only.
type Metadata struct{ sdk *imds.Client }

// NewMetadata returns a client. An empty endpoint means Amazon's.
func NewMetadata(endpoint string) *Metadata {
	return &Metadata{imds.New(imds.Options{
		Endpoint: endpoint, EnableFallback: aws.FalseTernary,
		// Callers retry by themselves; a request should not wait for minutes.
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 3 }),
	})}
}

// Get returns the value of a path below meta-data. Found is false if the path does not exist.
func (m *Metadata) Get(ctx context.Context, path string) (text string, found bool, err error) {
	out, err := m.sdk.GetMetadata(ctx, &imds.GetMetadataInput{Path: path})
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && e.HTTPStatusCode() == http.StatusNotFound {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the instance metadata %s: %w", path, err)
	}
	defer out.Content.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(out.Content, 1<<20))
	if err != nil {
		return "", false, fmt.Errorf("read the instance metadata %s: %w", path, err)
	}
	return string(data), true, nil
}

// Identity returns the identity of the instance.
func (m *Metadata) Identity(ctx context.Context) (host.Identity, error) {
	id := host.Identity{}
	for path, into := range map[string]*string{"instance-id": &id.Instance, "placement/region": &id.Region} {
		text, found, err := m.Get(ctx, path)
		if err != nil {
			return host.Identity{}, err
		}
		if !found || text == "" {
			return host.Identity{}, fmt.Errorf("read the instance metadata %s: it does not exist", path)
		}
		*into = text
	}
	return id, nil
}
