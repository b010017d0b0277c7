package parts

import (
	"context"
	"fmt"
	"io"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
)

// backupUpload returns an Upload to S3. It uses the keys and endpoint of the checkpoint storage if that is
// S3, and those of the environment otherwise.
func backupUpload(c *config.CheckpointStorage) master.Upload {
	return func(ctx context.Context, url string, from io.Reader) error {
		bucket, name, err := upload.Address(url)
		if err != nil {
			return err
		}
		server, err := uploadServer(ctx, c)
		if err != nil {
			return err
		}
		api, err := upload.Open(ctx, server)
		if err != nil {
			return err
		}
		return upload.Put(ctx, api, bucket, name, from)
	}
}

func uploadServer(ctx context.Context, c *config.CheckpointStorage) (server upload.Server, err error) {
	if c == nil || c.S3 == nil {
		return server, nil
	}
	server.EndpointURL = c.S3.EndpointURL
	if server.AccessKey, err = secretResolver().Resolve(ctx, c.S3.AccessKey); err == nil {
		server.SecretKey, err = secretResolver().Resolve(ctx, c.S3.SecretKey)
	}
	if err != nil {
		return server, fmt.Errorf("cannot read the keys of checkpoint_storage: %w", err)
	}
	return server, nil
}
