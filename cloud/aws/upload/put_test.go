package upload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// server is a fake S3 server that accepts all parts of one upload and rejects its abort with an
// error code.
type server struct {
	abort       string
	aborts      atomic.Int32
	checksummed atomic.Bool
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	switch {
	case r.Method == http.MethodDelete:
		s.aborts.Add(1)
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", s.abort)
	case r.Method == http.MethodPut:
		if r.Header.Get("X-Amz-Trailer") != "" || r.Header.Get("X-Amz-Checksum-Crc32") != "" {
			s.checksummed.Store(true)
		}
		w.Header().Set("Etag", `"e"`)
	case r.URL.Query().Has("uploads"):
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
	default:
		_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")
	}
}

func (s *server) open(t *testing.T) *s3.Client {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	c, err := upload.Open(t.Context(), upload.Server{AccessKey: secret.Literal("k"), SecretKey: secret.Literal("s"), EndpointURL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPutReportsFailedAbort(t *testing.T) {
	t.Parallel()
	cause := errors.New("the store is gone")
	for _, tt := range []struct {
		code     string
		before   int
		aborts   int32
		reported bool
	}{
		{"AccessDenied", 17 << 20, 1, true},
		{"NoSuchUpload", 17 << 20, 1, false},
		{"AccessDenied", 5, 0, false}, // the multipart upload was not created
	} {
		s := &server{abort: tt.code}
		torn := io.MultiReader(bytes.NewReader(make([]byte, tt.before)), iotest.ErrReader(cause))
		err := upload.Put(t.Context(), s.open(t), "b", "k", torn)
		if !errors.Is(err, cause) || cloud.KindOf(err) != cloud.Unknown || s.aborts.Load() != tt.aborts {
			t.Errorf("%s: got %v after %d aborts, want the cause after %d", tt.code, err, s.aborts.Load(), tt.aborts)
		}
		if got := err != nil && strings.Contains(err.Error(), "abort the multipart upload: "); got != tt.reported {
			t.Errorf("%s after %d bytes: got %v, want the abort in it %t", tt.code, tt.before, err, tt.reported)
		}
	}
}

// When the upload is canceled, the source's only error may be that it is closed.
func TestCanceledUploadReturnsCanceled(t *testing.T) {
	t.Parallel()
	s := &server{abort: "AccessDenied"}
	ctx, stop := context.WithCancel(t.Context())
	closed := io.MultiReader(bytes.NewReader(make([]byte, 17<<20)), readerFunc(func([]byte) (int, error) {
		stop()
		return 0, io.ErrClosedPipe
	}))
	err := upload.Put(ctx, s.open(t), "b", "k", closed)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, io.ErrClosedPipe) || s.aborts.Load() == 0 {
		t.Errorf("got %v after %d aborts, want the end of the context, the cause and an abort", err, s.aborts.Load())
	}
}

// S3-compatible servers may reject checksums, which the environment can disable.
func TestPutUsesConfiguredChecksums(t *testing.T) {
	t.Parallel()
	for when, want := range map[aws.RequestChecksumCalculation]bool{
		aws.RequestChecksumCalculationWhenSupported: true, aws.RequestChecksumCalculationWhenRequired: false,
	} {
		s := &server{}
		c := s3.New(s.open(t).Options(), func(o *s3.Options) { o.RequestChecksumCalculation = when })
		if err := upload.Put(t.Context(), c, "b", "k", strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
		if got := s.checksummed.Load(); got != want {
			t.Errorf("setting %d: got a checksum %t, want %t", when, got, want)
		}
	}
}
