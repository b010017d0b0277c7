package server

import (
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/server/body"
)

// What a body may become in memory. A value that is not a file's takes some 90 bytes,
// a file some 300.
const (
	mostValues = 128 << 10
	mostFiles  = 200_000 // as many as an agent unpacks
	mostRest   = 32 << 20
)

// receiveLarge keeps a large body in a file until it has arrived, and waits for its
// turn to be decoded. The contents of its files stay in that file.
func (c *call) receiveLarge() ([]byte, error) {
	leave, err := c.room.Uploads.Acquire(c.ownerKey())
	if err != nil {
		return nil, status.New(status.Unavailable, "%d large requests of yours are under way; try again when some have ended", c.room.Uploads.Most)
	}
	c.holdUntilEnd(leave)
	if err := c.takeBytes(c.room.Spooled, c.bodyLength()); err != nil {
		return nil, err
	}
	kept, err := readArriving(c, func() (*body.Spool, error) { return c.room.Place.Spool(c.bodyLength(), c.boundedBody()) })
	if err != nil {
		return nil, asRefusal(err)
	}
	c.holdUntilEnd(func() { _ = kept.Close() }) // it was only read
	if err := c.takeBytes(c.room.Decoding, 1); err != nil {
		return nil, err
	}
	parts, err := kept.Sift(body.Limits{Rest: int(min(c.limit, mostRest)), Files: mostFiles, Values: mostValues})
	if err != nil {
		return nil, asRefusal(err)
	}
	c.contents = parts.Content
	return parts.Rest, nil
}
