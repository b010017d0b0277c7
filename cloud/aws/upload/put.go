package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

const (
	// partSize is what is held in memory, in bytes; S3 takes 10,000 parts, so 160 GB in all.
	partSize = 16 << 20
	// abortLimit bounds the abort of an upload.
	abortLimit = 30 * time.Second
)

// Put writes an object from a stream, whole or not at all. Its error is also that of an
// abort that is refused: then parts are left, which cost.
func Put(ctx context.Context, api *s3.Client, bucket, name string, from io.Reader) error {
	begun, err := api.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &name})
	if err != nil {
		return refusalError(bucket, name, err)
	}
	u := upload{api: api, bucket: &bucket, name: &name, id: begun.UploadId}
	err = u.sendParts(ctx, from)
	if err == nil {
		err = u.complete(ctx)
	}
	if err != nil {
		if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
			err = errors.Join(err, cause)
		}
		return errors.Join(refusalError(bucket, name, err), u.abort(ctx))
	}
	return nil
}

// upload is a multipart upload that has begun.
type upload struct {
	api              *s3.Client
	bucket, name, id *string
	parts            []types.CompletedPart
}

func (u *upload) sendParts(ctx context.Context, from io.Reader) error {
	buffer := make([]byte, partSize)
	for {
		size, err := readPart(from, buffer)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return err
		}
		if size > 0 || len(u.parts) == 0 { // an empty object has one empty part
			if err := u.sendPart(ctx, buffer[:size]); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
	}
}

// readPart fills the buffer. Its error is io.EOF at the end of the stream, also after some
// bytes; that a stream breaks off with io.ErrUnexpectedEOF is no end.
func readPart(from io.Reader, buffer []byte) (size int, err error) {
	for size < len(buffer) && err == nil {
		var n int
		n, err = from.Read(buffer[size:])
		size += n
	}
	return size, err
}

func (u *upload) sendPart(ctx context.Context, data []byte) error {
	n := aws.Int32(int32(len(u.parts) + 1)) //nolint:gosec // S3 refuses the part 10,001
	out, err := u.api.UploadPart(ctx, &s3.UploadPartInput{Bucket: u.bucket, Key: u.name, UploadId: u.id, PartNumber: n, Body: bytes.NewReader(data)})
	if err != nil {
		return err
	}
	u.parts = append(u.parts, types.CompletedPart{ETag: out.ETag, PartNumber: n, ChecksumCRC32: out.ChecksumCRC32})
	return nil
}

func (u *upload) complete(ctx context.Context) error {
	_, err := u.api.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: u.bucket, Key: u.name, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	return err
}

// abort removes what was sent, also when ctx has ended.
func (u *upload) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_, err := u.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: u.bucket, Key: u.name, UploadId: u.id})
	if refusal, ok := errors.AsType[smithy.APIError](err); ok && refusal.ErrorCode() == "NoSuchUpload" {
		return nil // nothing is left
	}
	if err != nil {
		return fmt.Errorf("give up the upload that was begun: %w", err)
	}
	return nil
}
