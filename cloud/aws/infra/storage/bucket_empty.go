package storage

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// DeleteBucket empties and deletes a bucket. It starts over if objects were written in the
// meantime.
func DeleteBucket(ctx context.Context, c *mark.Cluster, n string) error {
	return c.Waiter().RetryWhileInUse(ctx, "bucket "+n, func() error {
		if err := EmptyBucket(ctx, c, n); err != nil {
			return err
		}
		_, err := c.Clients.S3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String(n)})
		return err
	})
}

// EmptyBucket deletes all objects of a bucket with their versions and delete markers, and aborts
// incomplete multipart uploads. It returns a NotFound error if the bucket does not exist.
func EmptyBucket(ctx context.Context, c *mark.Cluster, n string) error {
	uploads := s3.NewListMultipartUploadsPaginator(c.Clients.S3, &s3.ListMultipartUploadsInput{Bucket: aws.String(n)})
	unfinished, err := mark.Pages(ctx, uploads, func(o *s3.ListMultipartUploadsOutput) []types.MultipartUpload { return o.Uploads })
	if err != nil {
		return err
	}
	for _, u := range unfinished {
		_, err := c.Clients.S3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: aws.String(n), Key: u.Key, UploadId: u.UploadId})
		if infra.IgnoreMissing(err) != nil {
			return err
		}
	}
	// Deleting while listing: each page starts where the last one ended, and has at most the 1,000
	// keys that one DeleteObjects call accepts.
	versions := s3.NewListObjectVersionsPaginator(c.Clients.S3, &s3.ListObjectVersionsInput{Bucket: aws.String(n)})
	for versions.HasMorePages() {
		page, err := versions.NextPage(ctx)
		if err != nil {
			return err
		}
		if err := deleteObjects(ctx, c, n, objectIDs(page)); err != nil {
			return err
		}
	}
	return nil
}

func objectIDs(page *s3.ListObjectVersionsOutput) []types.ObjectIdentifier {
	var out []types.ObjectIdentifier
	for _, v := range page.Versions {
		out = append(out, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
	}
	for _, m := range page.DeleteMarkers {
		out = append(out, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
	}
	return out
}

func deleteObjects(ctx context.Context, c *mark.Cluster, n string, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	out, err := c.Clients.S3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: aws.String(n), Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return err
	}
	for _, e := range out.Errors {
		return api.Refusal("s3:DeleteObjects", aws.ToString(e.Key), aws.ToString(e.Code), aws.ToString(e.Message))
	}
	return nil
}
