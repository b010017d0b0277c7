package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/share"
)

// The time limits for receiving a body.
const (
	smallTime = 30 * time.Second
	largeTime = 5 * time.Minute // for bodies of unknown length
)

// slowest is the minimum rate of a large body, in bytes per second, because other clients wait for its
// resources.
const slowest = 512 << 10

// The limits of a decoded body. A value outside of files takes about 90 bytes, and a file about 300.
const (
	mostValues = 128 << 10
	mostFiles  = 200_000 // the maximum that an agent unpacks
	mostRest   = 32 << 20
)

// intake receives the body of a call and holds the shared resources that the call uses.
type intake struct {
	call  *call
	limit int64
	// room limits the shared resources.
	room *guard.Room
	// place is the place of an unauthenticated caller, or nil.
	place *share.Place
	// contents returns the contents of the files of a large body with their sizes. It is nil if the
	// message contains them.
	contents func(file int) (io.Reader, int64)
	// functions that release resources; they run when the work is done, before the response is written
	held []func()
}

// holdUntilEnd adds a function that releases a resource of the call.
func (r *intake) holdUntilEnd(give func()) { r.held = append(r.held, give) }

// releaseAll releases the resources of the call. It is idempotent.
func (r *intake) releaseAll() {
	held := r.held
	r.held = nil
	for _, give := range held {
		give()
	}
}

// read decodes the body as JSON, independent of its Content-Type.
func (r *intake) read(in proto.Message) error {
	b, err := r.receiveBounded()
	if err != nil || len(b) == 0 {
		return err
	}
	if err := reading.Unmarshal(b, in); err != nil {
		return status.New(status.InvalidArgument, "invalid request body: %s", plainText(err))
	}
	return checkItems(in)
}

// receiveBounded is like receive, but returns a *sizeError if the body is too large.
func (r *intake) receiveBounded() ([]byte, error) {
	b, err := r.receive()
	if tooLarge, found := errors.AsType[*http.MaxBytesError](err); found {
		return nil, &sizeError{limit: tooLarge.Limit}
	}
	return b, err
}

// receive returns the body, or its part without file contents if it is large.
func (r *intake) receive() ([]byte, error) {
	if r.call.ContentLength == 0 {
		return nil, nil
	}
	if r.call.ContentLength > r.limit {
		return nil, &http.MaxBytesError{Limit: r.limit}
	}
	if r.isLarge() {
		return r.receiveLarge()
	}
	if err := r.takeSmall(); err != nil {
		return nil, err
	}
	b, err := readArriving(r, r.whole)
	if err != nil {
		return nil, asRefusal(err)
	}
	if r.place != nil {
		r.place.SetBusy()
	}
	switch n, most := body.CountValues(b), r.mostValues(); {
	case n > most:
		return nil, asRefusal(&body.LimitError{What: "values", Most: most})
	case n > guard.FewValues:
		return b, r.takeBytes(r.room.Values, int64(n))
	}
	return b, nil
}

// length returns the length of the body, or the limit if it is unknown.
func (r *intake) length() int64 {
	if r.call.ContentLength >= 0 {
		return r.call.ContentLength
	}
	return r.limit
}

func (r *intake) isLarge() bool { return r.length() > small }

// mostValues returns the maximum number of values in the body. For unauthenticated callers it is small
// enough not to count toward the shared limit.
func (r *intake) mostValues() int {
	if r.call.user == nil {
		return guard.FewValues
	}
	return mostValues
}

// takeSmall waits for the memory of a small body. Unauthenticated callers have separate places.
func (r *intake) takeSmall() error {
	if r.call.user != nil {
		return r.takeBytes(r.room.Bodies, r.length())
	}
	return r.takePlace()
}

// takePlace takes a place for an unauthenticated caller until the work is done. The call's context is
// canceled if the place is given to another client.
func (r *intake) takePlace() error {
	ctx, cancel := context.WithCancelCause(r.call.Context())
	place, ok := r.room.Strangers.Take(share.GroupOf(addressOf(r.call.Request)), func() { cancel(errCrowded()) })
	if !ok {
		cancel(nil)
		return errCrowded()
	}
	r.place, r.call.Request = place, r.call.WithContext(ctx)
	r.holdUntilEnd(func() { place.Leave(); cancel(nil) })
	return nil
}

func errCrowded() error {
	return status.New(status.Unavailable, "too many concurrent logins from your address; try again in a few seconds")
}

// takeBytes waits for the resources of n bytes.
func (r *intake) takeBytes(from *guard.Budget, n int64) error {
	give, err := from.Take(r.call.Context(), n)
	if err == nil {
		r.holdUntilEnd(give)
	}
	return err
}

// readArriving reads the body within its time limit and until the call's context ends.
func readArriving[T any](r *intake, read func() (T, error)) (T, error) {
	rc := http.NewResponseController(r.call.w)
	limit := smallTime
	if r.limit > small {
		limit += time.Duration(max(r.call.ContentLength, small)/slowest) * time.Second
	}
	if r.call.ContentLength < 0 && r.limit > small {
		limit = largeTime
	}
	timed := rc.SetReadDeadline(time.Now().Add(limit)) == nil
	stop := context.AfterFunc(r.call.Context(), func() { _ = rc.SetReadDeadline(time.Now()) })
	defer stop()
	got, err := read()
	if crowded, found := errors.AsType[*status.Error](context.Cause(r.call.Context())); found && err != nil {
		return got, crowded
	}
	if timed && err == nil {
		_ = rc.SetReadDeadline(time.Time{}) // otherwise the deadline would end a long response
	}
	return got, err
}

// boundedBody returns the body, limited to r.limit bytes.
func (r *intake) boundedBody() io.Reader { return http.MaxBytesReader(r.call.w, r.call.Body, r.limit) }

// whole reads the entire body.
func (r *intake) whole() ([]byte, error) {
	if n := r.call.ContentLength; n > 0 {
		b := make([]byte, n)
		_, err := io.ReadFull(r.boundedBody(), b)
		return b, err
	}
	return io.ReadAll(r.boundedBody())
}

// receiveLarge spools a large body to a file and waits for its turn to be decoded. The contents of its
// files remain in the spool.
func (r *intake) receiveLarge() ([]byte, error) {
	kept, err := r.spoolBody()
	if err != nil {
		return nil, err
	}
	parts, err := kept.Sift(body.Limits{Rest: int(min(r.limit, mostRest)), Files: mostFiles, Values: mostValues})
	if err != nil {
		return nil, asRefusal(err)
	}
	r.contents = parts.Content
	return parts.Rest, nil
}

// spoolBody stores the body in a file until the call's resources are released, and waits for its turn to
// be decoded. So a slow client keeps only disk space from others.
func (r *intake) spoolBody() (*body.Spool, error) {
	leave, err := r.room.Uploads.Acquire(r.call.ownerKey())
	if err != nil {
		return nil, status.New(status.Unavailable, "%d of your large requests are already in progress; try again when some have ended", r.room.Uploads.Most)
	}
	r.holdUntilEnd(leave)
	if err := r.takeBytes(r.room.Spooled, r.length()); err != nil {
		return nil, err
	}
	kept, err := readArriving(r, func() (*body.Spool, error) { return r.room.Place.Spool(r.length(), r.boundedBody()) })
	if err != nil {
		return nil, asRefusal(err)
	}
	r.holdUntilEnd(func() { _ = kept.Close() }) // read only
	return kept, r.takeBytes(r.room.Decoding, 1)
}

// plainText returns an error of the JSON decoder without the randomized spaces of protojson and without
// unprintable characters.
func plainText(err error) string {
	shown := strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0':
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, err.Error())
	return strings.TrimPrefix(shown, "proto: ")
}

// asRefusal maps an error in receiving a body to a status: Unavailable if the server caused it, and
// InvalidArgument otherwise.
func asRefusal(err error) error {
	if err == nil {
		return nil
	}
	if _, found := errors.AsType[*http.MaxBytesError](err); found {
		return err
	}
	if _, found := errors.AsType[*status.Error](err); found {
		return err
	}
	if _, found := errors.AsType[*body.DiskError](err); found {
		return status.New(status.Unavailable, "%v", err)
	}
	if _, found := errors.AsType[*body.LimitError](err); found {
		return status.New(status.InvalidArgument, "%v", err)
	}
	if _, found := errors.AsType[*body.ContentError](err); found {
		return status.New(status.InvalidArgument, "%v", err)
	}
	return status.New(status.InvalidArgument, "cannot read the request body: %v", err)
}
