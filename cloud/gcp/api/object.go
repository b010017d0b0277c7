package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"
)

// Content is the content of an object.
type Content struct {
	Data []byte
	// Generation changes with every write and is never reused for the object.
	Generation int64
	// Written is the time of the last write and Read the time of the response, both by Google's
	// clock.
	Written, Read time.Time
}

// Read returns the whole content of an object. With IfGenerationNotMatch, googleapi.IsNotModified
// reports whether the error means that the object is unchanged.
func Read(ctx context.Context, get *storage.ObjectsGetCall) (Content, error) {
	ctx, out := withOutcome(ctx)
	res, err := get.Context(ctx).Download()
	if err != nil {
		return Content{}, out.errorOf(err)
	}
	defer func() { _ = res.Body.Close() }() // it was read to the end
	c, err := readContent(res)
	return c, out.errorOf(err)
}

// Fetch downloads an object. If it returns an error, a part may have been written.
func (c Clients) Fetch(ctx context.Context, bucket, name string, to io.Writer) error {
	return c.FetchFrom(ctx, bucket, name, 0, to)
}

// FetchFrom is Fetch for the part of an object from an offset on.
func (c Clients) FetchFrom(ctx context.Context, bucket, name string, offset int64, to io.Writer) error {
	ctx, out := withOutcome(ctx)
	get := c.Storage.Objects.Get(bucket, name).Context(ctx)
	if offset > 0 {
		get.Header().Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	res, err := get.Download()
	if err != nil {
		return out.errorOf(err)
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	if offset > 0 && res.StatusCode != http.StatusPartialContent {
		_, err = io.CopyN(io.Discard, res.Body, offset)
	}
	if err == nil {
		_, err = io.Copy(to, res.Body)
	}
	if err != nil {
		return fmt.Errorf("read %s of bucket %s: %w", name, bucket, err)
	}
	return nil
}

// Upload writes an object. It returns a Conflict error unless the object has generation was: 0
// means that the object must not exist, nil matches any. Upload retries the call itself and rewinds
// body, because the transport cannot rewind the multipart body that the client creates from it.
func (c Clients) Upload(ctx context.Context, in *storage.Object, body io.ReadSeeker, was *int64) (*storage.Object, error) {
	for retries := newRetrier(); ; {
		written, call, err := c.uploadOnce(ctx, in, body, was)
		if err == nil || call == nil {
			return written, err
		}
		again, stopped := retries.awaitNext(ctx, call.row, err)
		if stopped != nil {
			return nil, errors.Join(err, stopped)
		}
		if !again {
			return written, err
		}
	}
}

func (c Clients) uploadOnce(ctx context.Context, in *storage.Object, body io.ReadSeeker, was *int64) (*storage.Object, *call, error) {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("upload %s: %w", in.Name, err)
	}
	once := struct{ io.Reader }{body} // prevents retries by the transport
	insert := c.Storage.Objects.Insert(in.Bucket, in).Media(once, googleapi.ChunkSize(0), googleapi.ContentType(in.ContentType))
	if was != nil {
		insert = insert.IfGenerationMatch(*was)
	}
	ctx, out := withOutcome(ctx)
	written, err := insert.Context(ctx).Do()
	return written, out.call, out.errorOf(err)
}

// readContent reads an object's content from the body of a response, and its times and generation
// from the headers.
func readContent(res *http.Response) (Content, error) {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return Content{}, err
	}
	generation, err := strconv.ParseInt(res.Header.Get("X-Goog-Generation"), 10, 64)
	if err != nil {
		return Content{}, &googleapi.Error{Code: res.StatusCode, Header: res.Header, Message: "the response lacks the generation"}
	}
	c := Content{Data: data, Generation: generation, Written: headerTime(res.Header, "Last-Modified"), Read: headerTime(res.Header, "Date")}
	if c.Read.Before(c.Written) {
		c.Read = c.Written
	}
	return c, nil
}

// headerTime returns the time in a header, with a resolution of seconds.
func headerTime(h http.Header, name string) time.Time {
	t, err := http.ParseTime(h.Get(name))
	if err != nil {
		return time.Time{}
	}
	return t
}
