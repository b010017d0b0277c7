package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
)

// mostListValues is the maximum number of values in a compressed body: six fields and a piece for each of
// the files.
const mostListValues = 8 * mostFiles

// readPacked is read for a body that is compressed if the request says so.
func (r *intake) readPacked(in proto.Message) error {
	if r.call.Header.Get("Content-Encoding") != "gzip" {
		return r.read(in)
	}
	from, err := r.receiveFile()
	if err != nil {
		return err
	}
	b, err := unpackBody(from)
	if err != nil {
		return asRefusal(err)
	}
	if err := reading.Unmarshal(b, in); err != nil {
		return status.New(status.InvalidArgument, "invalid request body: %s", plainText(err))
	}
	return checkItems(in)
}

// receiveFile stores the body in a file, and returns a reader of it.
func (r *intake) receiveFile() (io.Reader, error) {
	if r.call.ContentLength > r.limit {
		return nil, &sizeError{limit: r.limit}
	}
	kept, err := r.spoolBody()
	if tooLarge, found := errors.AsType[*http.MaxBytesError](err); found {
		return nil, &sizeError{limit: tooLarge.Limit}
	}
	if err != nil {
		return nil, err
	}
	return kept.Reader(), nil
}

func unpackBody(from io.Reader) ([]byte, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(zip, mostRest+1))
	switch {
	case err != nil:
		return nil, err
	case n > mostRest:
		return nil, &body.LimitError{What: "bytes", Most: mostRest}
	case body.CountValues(b.Bytes()) > mostListValues:
		return nil, &body.LimitError{What: "values", Most: mostListValues}
	}
	return b.Bytes(), nil
}
