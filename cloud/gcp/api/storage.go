package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Buckets are the buckets of Cloud Storage. Their names are shared by all projects.
type Buckets struct {
	Get    func(ctx context.Context, name string) (*storage.Bucket, error)
	Insert func(ctx context.Context, in *storage.Bucket) error
	Patch  func(ctx context.Context, name string, in *storage.Bucket) error
	Delete func(ctx context.Context, name string) error
	// List lists those of the project whose names begin with prefix.
	List      func(ctx context.Context, prefix string) ([]*storage.Bucket, error)
	GetPolicy func(ctx context.Context, name string) (*storage.Policy, error)
	// SetPolicy is refused with a conflict unless the policy has the etag of the present one.
	SetPolicy func(ctx context.Context, name string, in *storage.Policy) error
	// TestPermissions are those of some permissions that the caller has on a bucket.
	TestPermissions func(ctx context.Context, name string, permissions []string) ([]string, error)
}

func newBuckets(g *gateway, s *storage.BucketsService) Buckets {
	return Buckets{
		Get: func(ctx context.Context, name string) (*storage.Bucket, error) {
			ctx, c := g.begin(ctx, "storage.buckets.get")
			return send(ctx, c, s.Get(name).Context(ctx).Do)
		},
		Insert: func(ctx context.Context, in *storage.Bucket) error {
			ctx, c := g.begin(ctx, "storage.buckets.insert")
			return done(send(ctx, c, s.Insert(g.project, in).Context(ctx).Do))
		},
		Patch: func(ctx context.Context, name string, in *storage.Bucket) error {
			ctx, c := g.begin(ctx, "storage.buckets.patch")
			return done(send(ctx, c, s.Patch(name, in).Context(ctx).Do))
		},
		Delete: func(ctx context.Context, name string) error {
			ctx, c := g.begin(ctx, "storage.buckets.delete")
			return sendEmpty(ctx, c, s.Delete(name).Context(ctx).Do)
		},
		List: func(ctx context.Context, prefix string) ([]*storage.Bucket, error) {
			return readPages(func(token string) ([]*storage.Bucket, string, error) {
				ctx, c := g.begin(ctx, "storage.buckets.list")
				page, err := send(ctx, c, s.List(g.project).Prefix(prefix).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Items, page.NextPageToken, c.checkWhole(page.Unreachable)
			})
		},
		GetPolicy: func(ctx context.Context, name string) (*storage.Policy, error) {
			ctx, c := g.begin(ctx, "storage.buckets.getIamPolicy")
			return send(ctx, c, s.GetIamPolicy(name).OptionsRequestedPolicyVersion(policyVersion).Context(ctx).Do)
		},
		SetPolicy: func(ctx context.Context, name string, in *storage.Policy) error {
			ctx, c := g.begin(ctx, "storage.buckets.setIamPolicy")
			return done(send(ctx, c, s.SetIamPolicy(name, in).Context(ctx).Do))
		},
		TestPermissions: func(ctx context.Context, name string, permissions []string) ([]string, error) {
			ctx, c := g.begin(ctx, "storage.buckets.testIamPermissions")
			out, err := send(ctx, c, s.TestIamPermissions(name, permissions).Context(ctx).Do)
			if err != nil {
				return nil, err
			}
			return out.Permissions, nil
		},
	}
}

// Content is an object as it was read.
type Content struct {
	Data []byte
	// Generation changes with every write, and is none that the object ever had.
	Generation int64
	// Written and Read are when it was last written and when this answer was given, both
	// by Google's clock.
	Written, Read time.Time
}

// Objects are the objects in buckets.
type Objects struct {
	Get func(ctx context.Context, bucket, name string) (*storage.Object, error)
	// Read reads an object whole.
	Read func(ctx context.Context, bucket, name string) (Content, error)
	// ReadChanged is Read of an object that has another generation than was. Changed is
	// false when it still has that one.
	ReadChanged func(ctx context.Context, bucket, name string, was int64) (c Content, changed bool, err error)
	// Fetch copies an object. When it fails, a part may have been written.
	Fetch func(ctx context.Context, bucket, name string, to io.Writer) error
	// Write writes an object. It is refused with a conflict unless the present one has
	// that generation; 0 is for there being none, and nil for whatever there is. Body is
	// read from its beginning, as often as the call is made.
	Write func(ctx context.Context, in *storage.Object, body io.ReadSeeker, was *int64) (*storage.Object, error)
	// Delete removes an object, or one generation of it, if that is what it is called.
	Delete func(ctx context.Context, bucket, name string, was *int64) error
	// DeleteVersion removes one generation of an object for good, be it the present one or
	// one that its bucket kept.
	DeleteVersion func(ctx context.Context, bucket, name string, generation int64) error
	// Versions lists the objects of a bucket, with the generations of each that it kept.
	Versions func(ctx context.Context, bucket string) ([]*storage.Object, error)
}

func newObjects(g *gateway, s *storage.ObjectsService) Objects {
	return Objects{
		Get: func(ctx context.Context, bucket, name string) (*storage.Object, error) {
			ctx, c := g.begin(ctx, "storage.objects.get")
			return send(ctx, c, s.Get(bucket, name).Context(ctx).Do)
		},
		Read: func(ctx context.Context, bucket, name string) (Content, error) {
			ctx, c := g.begin(ctx, "storage.objects.get")
			return send(ctx, c, func(...googleapi.CallOption) (Content, error) {
				res, err := s.Get(bucket, name).Context(ctx).Download()
				if err != nil {
					return Content{}, err
				}
				defer func() { _ = res.Body.Close() }() // read to its end
				return readContent(res)
			})
		},
		ReadChanged: func(ctx context.Context, bucket, name string, was int64) (Content, bool, error) {
			ctx, c := g.begin(ctx, "storage.objects.get")
			out, err := send(ctx, c, func(...googleapi.CallOption) (changedContent, error) {
				res, err := s.Get(bucket, name).IfGenerationNotMatch(was).Context(ctx).Download()
				if googleapi.IsNotModified(err) {
					return changedContent{}, nil
				}
				if err != nil {
					return changedContent{}, err
				}
				defer func() { _ = res.Body.Close() }() // read to its end
				out, err := readContent(res)
				return changedContent{out, true}, err
			})
			return out.Content, out.changed, err
		},
		Fetch: func(ctx context.Context, bucket, name string, to io.Writer) error {
			ctx, c := g.begin(ctx, "storage.objects.get")
			res, err := send(ctx, c, func(...googleapi.CallOption) (*http.Response, error) {
				return s.Get(bucket, name).Context(ctx).Download()
			})
			if err != nil {
				return err
			}
			defer func() { _ = res.Body.Close() }() // it was only read
			if _, err := io.Copy(to, res.Body); err != nil {
				return fmt.Errorf("read %s of bucket %s: %w", name, bucket, err)
			}
			return nil
		},
		Write: func(ctx context.Context, in *storage.Object, body io.ReadSeeker, was *int64) (*storage.Object, error) {
			ctx, c := g.begin(ctx, "storage.objects.insert")
			return send(ctx, c, func(...googleapi.CallOption) (*storage.Object, error) {
				if _, err := body.Seek(0, io.SeekStart); err != nil {
					return nil, err
				}
				request := s.Insert(in.Bucket, in).Media(body, googleapi.ChunkSize(0), googleapi.ContentType(in.ContentType))
				if was != nil {
					request = request.IfGenerationMatch(*was)
				}
				return request.Context(ctx).Do()
			})
		},
		Delete: func(ctx context.Context, bucket, name string, was *int64) error {
			ctx, c := g.begin(ctx, "storage.objects.delete")
			request := s.Delete(bucket, name)
			if was != nil {
				request = request.IfGenerationMatch(*was)
			}
			return sendEmpty(ctx, c, request.Context(ctx).Do)
		},
		DeleteVersion: func(ctx context.Context, bucket, name string, generation int64) error {
			ctx, c := g.begin(ctx, "storage.objects.delete")
			return sendEmpty(ctx, c, s.Delete(bucket, name).Generation(generation).Context(ctx).Do)
		},
		Versions: func(ctx context.Context, bucket string) ([]*storage.Object, error) {
			return readPages(func(token string) ([]*storage.Object, string, error) {
				ctx, c := g.begin(ctx, "storage.objects.list")
				page, err := send(ctx, c, s.List(bucket).Versions(true).PageToken(token).Context(ctx).Do)
				if err != nil {
					return nil, "", err
				}
				return page.Items, page.NextPageToken, nil
			})
		},
	}
}

// changedContent is an object, or that it has not changed.
type changedContent struct {
	Content

	changed bool
}

// readContent reads an answer whose body is an object, and whose headers say the rest.
func readContent(res *http.Response) (Content, error) {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return Content{}, err
	}
	generation, err := strconv.ParseInt(res.Header.Get("X-Goog-Generation"), 10, 64)
	if err != nil {
		return Content{}, &googleapi.Error{Code: res.StatusCode, Header: res.Header, Message: "the answer lacks the generation"}
	}
	c := Content{Data: data, Generation: generation, Written: headerTime(res.Header, "Last-Modified"), Read: headerTime(res.Header, "Date")}
	if c.Read.Before(c.Written) {
		c.Read = c.Written
	}
	return c, nil
}

// headerTime is a moment in a header, which tells whole seconds.
func headerTime(h http.Header, name string) time.Time {
	t, err := http.ParseTime(h.Get(name))
	if err != nil {
		return time.Time{}
	}
	return t
}

// sendEmpty makes a call whose answer is empty.
func sendEmpty(ctx context.Context, c *call, do func(...googleapi.CallOption) error) error {
	return done(send(ctx, c, func(o ...googleapi.CallOption) (struct{}, error) { return struct{}{}, do(o...) }))
}

// policyVersion is that of policies that may have conditions. Google leaves conditions
// out of an older one, and they would be lost when it is written.
const policyVersion = 3

func storageCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("storage.buckets.get"),
		edge.Reads("storage.buckets.list"),
		edge.Writes("storage.buckets.insert", "storage.buckets.create"),
		edge.Writes("storage.buckets.patch", "storage.buckets.update"),
		edge.Writes("storage.buckets.delete"),
		edge.Reads("storage.buckets.getIamPolicy"),
		edge.Writes("storage.buckets.setIamPolicy"),
		freeCall("storage.buckets.testIamPermissions"),
		edge.Reads("storage.objects.get"),
		edge.Reads("storage.objects.list"),
		// To write over an object is to delete it.
		edge.Writes("storage.objects.insert", "storage.objects.create", "storage.objects.delete"),
		edge.Writes("storage.objects.delete"),
	}
}
