// Package control implements the control bucket of a cluster on S3. It holds the record, the lease,
// and the programs and files of the machines.
package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithy "github.com/aws/smithy-go/middleware"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Bucket is the control bucket of a cluster. Tasks have no access to it. It exists before the
// lease, so its clients do not ask the gate.
type Bucket struct {
	S3     api.S3
	Name   string
	Region string
	// Account must own the bucket. Any account may take a free bucket name, so every request
	// requires this owner.
	Account string
	// Tags are set when the bucket is created.
	Tags map[string]string
}

var (
	_ record.Finisher = Bucket{}
	_ record.Keeper   = Bucket{}
)

// Name returns the name of a cluster's control bucket.
func Name(cluster, account string) string { return "det-deploy-" + cluster + "-" + account }

// ClusterOf returns the cluster with the control bucket of that name.
func ClusterOf(name, account string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "det-deploy-")
	id, mine := strings.CutSuffix(rest, "-"+account)
	return id, ok && mine && id != "" && !strings.HasSuffix(id, "-data")
}

// Open returns the control bucket of a cluster, whether it exists or not.
func Open(c api.Clients, cluster, account string) Bucket {
	return Bucket{
		S3: c.S3, Name: Name(cluster, account), Region: c.Region, Account: account,
		Tags: map[string]string{mark.ClusterTag: cluster},
	}
}

// Make creates the bucket. A new bucket denies public access. Make may be repeated.
func (b Bucket) Make(ctx context.Context) error {
	in := &s3.CreateBucketInput{Bucket: &b.Name}
	if b.Region != "us-east-1" { // S3 rejects this name as a location constraint
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.Region)}
	}
	if _, err := b.S3.CreateBucket(ctx, in); err != nil && !b.isOwned(ctx) {
		return err
	}
	return nil
}

// Finish makes the bucket private and encrypted, and then tags it. It may be repeated and completes
// a bucket that was left half made.
func (b Bucket) Finish(ctx context.Context) error {
	// The tags are written last. S3 makes new buckets private and encrypted.
	var marked, private, encrypted bool
	var looked sync.WaitGroup
	looked.Go(func() { marked = b.hasMark(ctx) })
	looked.Go(func() { private = b.isPrivate(ctx) })
	looked.Go(func() { encrypted = b.isEncrypted(ctx) })
	looked.Wait()
	if marked {
		return nil
	}
	if !private {
		if err := b.makePrivate(ctx); err != nil {
			return err
		}
	}
	if !encrypted {
		if err := b.encrypt(ctx); err != nil {
			return err
		}
	}
	var tags []types.Tag
	for k, v := range b.Tags {
		tags = append(tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	_, err := b.S3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Account, Tagging: &types.Tagging{TagSet: tags},
	})
	return err
}

func (b Bucket) isOwned(ctx context.Context) bool {
	_, err := b.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	return err == nil
}

// hasMark reports whether the bucket has the cluster's tags.
func (b Bucket) hasMark(ctx context.Context) bool {
	out, err := b.S3.GetBucketTagging(ctx, &s3.GetBucketTaggingInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	if err != nil {
		return false
	}
	missing := len(b.Tags)
	for _, t := range out.TagSet {
		if b.Tags[aws.ToString(t.Key)] == aws.ToString(t.Value) {
			missing--
		}
	}
	return missing <= 0
}

// Get reads an object.
func (b Bucket) Get(ctx context.Context, key string) (record.Object, error) {
	out, err := b.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Account})
	if err != nil {
		return record.Object{}, err
	}
	defer func() { _ = out.Body.Close() }() // read to the end below
	data, err := io.ReadAll(out.Body)
	if err != nil {
		return record.Object{}, fmt.Errorf("read %s from bucket %s: %w", key, b.Name, err)
	}
	o := record.Object{Data: data, Place: "s3://" + b.Name + "/" + key, Version: aws.ToString(out.ETag), Written: aws.ToTime(out.LastModified)}
	o.Read = serverTime(out.ResultMetadata, o.Written)
	return o, nil
}

// serverTime returns the time of a response by the server's clock, in whole seconds.
func serverTime(m smithy.Metadata, written time.Time) time.Time {
	at, ok := middleware.GetServerTime(m)
	if !ok || at.Before(written) {
		return written
	}
	return at
}

// Put replaces version was of an object. If was is empty, it creates the object and fails if it
// exists.
func (b Bucket) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	in := &s3.PutObjectInput{Bucket: &b.Name, Key: &key, Body: bytes.NewReader(data), ExpectedBucketOwner: &b.Account}
	if was == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = &was
	}
	out, err := b.S3.PutObject(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// Delete removes an object if its version is was.
func (b Bucket) Delete(ctx context.Context, key, was string) error {
	head, err := b.S3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Name, Key: &key, ExpectedBucketOwner: &b.Account})
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return nil
	case err != nil:
		return err
	case aws.ToString(head.ETag) != was:
		return &cloud.Error{Kind: cloud.Conflict, Op: "s3:DeleteObject", Resource: key, Err: errors.New("another process has written it")}
	}
	_, err = b.S3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.Name, Key: &key, IfMatch: &was, ExpectedBucketOwner: &b.Account})
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}

// DestroyExcept removes all objects but one, with their older versions.
func (b Bucket) DestroyExcept(ctx context.Context, key string) error {
	err := b.emptyBucket(ctx, key)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}

// Destroy removes the bucket with all its objects and their older versions.
func (b Bucket) Destroy(ctx context.Context) error {
	for {
		err := b.emptyBucket(ctx, "")
		if err == nil {
			_, err = b.S3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
		}
		switch cloud.KindOf(err) {
		case "", cloud.NotFound:
			return nil
		case cloud.Conflict, cloud.Ambiguous: // the machine has written its status meanwhile, or it may be gone
			if ctx.Err() == nil {
				continue
			}
		default:
		}
		return err
	}
}

// emptyBucket removes all objects but keep.
func (b Bucket) emptyBucket(ctx context.Context, keep string) error {
	p := s3.NewListObjectVersionsPaginator(b.S3, &s3.ListObjectVersionsInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		var ids []types.ObjectIdentifier
		for _, v := range page.Versions {
			if aws.ToString(v.Key) == keep {
				continue
			}
			ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, m := range page.DeleteMarkers {
			ids = append(ids, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}
		if err := b.removeVersions(ctx, ids); err != nil {
			return err
		}
	}
	return b.abortUploads(ctx)
}

func (b Bucket) removeVersions(ctx context.Context, ids []types.ObjectIdentifier) error {
	if len(ids) == 0 {
		return nil
	}
	out, err := b.S3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Account, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return err
	}
	if len(out.Errors) > 0 {
		e := out.Errors[0]
		return fmt.Errorf("remove %s from bucket %s: %s", aws.ToString(e.Key), b.Name, aws.ToString(e.Message))
	}
	return nil
}

// abortUploads aborts interrupted uploads of programs.
func (b Bucket) abortUploads(ctx context.Context) error {
	p := s3.NewListMultipartUploadsPaginator(b.S3, &s3.ListMultipartUploadsInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, u := range page.Uploads {
			_, err := b.S3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
				Bucket: &b.Name, Key: u.Key, UploadId: u.UploadId, ExpectedBucketOwner: &b.Account,
			})
			if err != nil && cloud.KindOf(err) != cloud.NotFound {
				return err
			}
		}
	}
	return nil
}
