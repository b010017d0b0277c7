package machine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/host/follow"
)

// Bucket is the cluster's control bucket.
type Bucket struct {
	Name    string
	Clients api.Clients
}

var _ follow.Bucket = Bucket{}

// Changed returns an object and its generation, or no data if the generation is still the given
// mark.
func (b Bucket) Changed(ctx context.Context, key, mark string) (data []byte, now string, err error) {
	if mark == "" {
		c, err := api.Read(ctx, b.Clients.Storage.Objects.Get(b.Name, key))
		return c.Data, strconv.FormatInt(c.Generation, 10), err
	}
	was, err := strconv.ParseInt(mark, 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("read %s of bucket %s: generation %q: %w", key, b.Name, mark, err)
	}
	c, err := api.Read(ctx, b.Clients.Storage.Objects.Get(b.Name, key).IfGenerationNotMatch(was))
	if googleapi.IsNotModified(err) {
		return nil, mark, nil
	}
	if err != nil {
		return nil, mark, err
	}
	return c.Data, strconv.FormatInt(c.Generation, 10), nil
}

// Fetch downloads an object.
func (b Bucket) Fetch(ctx context.Context, key string, to io.Writer) error {
	return b.Clients.Fetch(ctx, b.Name, key, to)
}

// Put writes an object.
func (b Bucket) Put(ctx context.Context, key string, data []byte) error {
	_, err := b.Clients.Upload(ctx, &storage.Object{Bucket: b.Name, Name: key, ContentType: "application/json"}, bytes.NewReader(data), nil)
	return err
}
