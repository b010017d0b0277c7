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

// The time that a body may take.
const (
	smallTime = 30 * time.Second
	largeTime = 5 * time.Minute // of unknown length
)

// slowest is the rate, in bytes a second, at which a large body must at least arrive:
// others wait for the room it takes.
const slowest = 512 << 10

// What a body may become in memory. A value that is not a file's takes some 90 bytes,
// a file some 300.
const (
	mostValues = 128 << 10
	mostFiles  = 200_000 // as many as an agent unpacks
	mostRest   = 32 << 20
)

// intake receives the body of a call, and holds what the call takes of what all calls share.
type intake struct {
	call  *call
	limit int64
	// room is what the call may take of what all calls share.
	room *guard.Room
	// place is that of a caller who is not known; nil for others.
	place *share.Place
	// contents are those of the files of a large body, and their sizes; nil where they
	// are in the message.
	contents func(file int) (io.Reader, int64)
	// given back when the work is done, before the answer is written.
	held []func()
}

// holdUntilEnd keeps what the call has taken until its work is done.
func (r *intake) holdUntilEnd(give func()) { r.held = append(r.held, give) }

// releaseAll gives back what the call holds. It may be called again.
func (r *intake) releaseAll() {
	held := r.held
	r.held = nil
	for _, give := range held {
		give()
	}
}

// read decodes the body as JSON, whatever its Content-Type says.
func (r *intake) read(in proto.Message) error {
	b, err := r.receiveBounded()
	if err != nil || len(b) == 0 {
		return err
	}
	if err := reading.Unmarshal(b, in); err != nil {
		return status.New(status.InvalidArgument, "the request's body is not what this call takes: %s", plainText(err))
	}
	return checkItems(in)
}

// receiveBounded is receive with a sentence for a body that is too large.
func (r *intake) receiveBounded() ([]byte, error) {
	b, err := r.receive()
	if tooLarge, found := errors.AsType[*http.MaxBytesError](err); found {
		return nil, &sizeError{limit: tooLarge.Limit}
	}
	return b, err
}

// receive is what is to be decoded of the body, all of it where it is small.
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

// length is the body's, or the longest where the caller did not say.
func (r *intake) length() int64 {
	if r.call.ContentLength >= 0 {
		return r.call.ContentLength
	}
	return r.limit
}

func (r *intake) isLarge() bool { return r.length() > small }

// mostValues is how many values the body may have. A stranger's never take turns with
// those of users.
func (r *intake) mostValues() int {
	if r.call.user == nil {
		return guard.FewValues
	}
	return mostValues
}

// takeSmall waits for the memory that a small body takes. Strangers have places of their own.
func (r *intake) takeSmall() error {
	if r.call.user != nil {
		return r.takeBytes(r.room.Bodies, r.length())
	}
	return r.takePlace()
}

// takePlace takes a stranger's place, until the call's work is done. The call's context ends
// when another client is given the place.
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
	return status.New(status.Unavailable, "too many logins from your address are under way; try again in a few seconds")
}

// takeBytes waits for the room that n bytes take.
func (r *intake) takeBytes(from *guard.Budget, n int64) error {
	give, err := from.Take(r.call.Context(), n)
	if err == nil {
		r.holdUntilEnd(give)
	}
	return err
}

// readArriving reads the body, for as long as it may take and the call's context lasts.
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
		_ = rc.SetReadDeadline(time.Time{}) // else a long answer would end with it
	}
	return got, err
}

// boundedBody is the body up to the call's limit.
func (r *intake) boundedBody() io.Reader { return http.MaxBytesReader(r.call.w, r.call.Body, r.limit) }

// whole is the body in one piece.
func (r *intake) whole() ([]byte, error) {
	if n := r.call.ContentLength; n > 0 {
		b := make([]byte, n)
		_, err := io.ReadFull(r.boundedBody(), b)
		return b, err
	}
	return io.ReadAll(r.boundedBody())
}

// receiveLarge keeps a large body in a file until it has arrived, and waits for its
// turn to be decoded. The contents of its files stay in that file.
func (r *intake) receiveLarge() ([]byte, error) {
	leave, err := r.room.Uploads.Acquire(r.call.ownerKey())
	if err != nil {
		return nil, status.New(status.Unavailable, "%d large requests of yours are under way; try again when some have ended", r.room.Uploads.Most)
	}
	r.holdUntilEnd(leave)
	if err := r.takeBytes(r.room.Spooled, r.length()); err != nil {
		return nil, err
	}
	kept, err := readArriving(r, func() (*body.Spool, error) { return r.room.Place.Spool(r.length(), r.boundedBody()) })
	if err != nil {
		return nil, asRefusal(err)
	}
	r.holdUntilEnd(func() { _ = kept.Close() }) // it was only read
	if err := r.takeBytes(r.room.Decoding, 1); err != nil {
		return nil, err
	}
	parts, err := kept.Sift(body.Limits{Rest: int(min(r.limit, mostRest)), Files: mostFiles, Values: mostValues})
	if err != nil {
		return nil, asRefusal(err)
	}
	r.contents = parts.Content
	return parts.Rest, nil
}

// plainText is an error of the decoder without the blanks by which it keeps programs from comparing its texts,
// and without what no terminal shows.
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

// asRefusal says whose fault it is that a body was not taken.
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
	return status.New(status.InvalidArgument, "the request's body did not arrive: %v", err)
}
