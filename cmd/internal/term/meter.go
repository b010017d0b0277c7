package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// meterAfter is how long an operation takes before its meter is shown, and meterEvery the time between two
// drawings.
const (
	meterAfter = time.Second
	meterEvery = 100 * time.Millisecond
)

// Meter shows on Err how many bytes are done, if Err is a terminal and the operation takes long.
type Meter struct {
	line *LiveLine
	what string

	mu    sync.Mutex // guards the following fields
	began time.Time  // the first call of Set
	drawn time.Time
	// first draws the meter even if nothing is done for long.
	first *time.Timer

	done, total int64
}

// NewMeter returns a meter of an operation, such as "Sending files".
func (s *Streams) NewMeter(what string) *Meter {
	return &Meter{line: s.NewLiveLine(), what: what}
}

// Set shows that done of total bytes are done. A total of 0 is unknown.
func (m *Meter) Set(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.began.IsZero() {
		m.began, m.first = now, time.AfterFunc(meterAfter, m.drawFirst)
	}
	m.done, m.total = done, total
	m.draw(now)
}

func (m *Meter) drawFirst() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first != nil {
		m.draw(time.Now())
	}
}

func (m *Meter) draw(now time.Time) {
	if now.Sub(m.began) < meterAfter || now.Sub(m.drawn) < meterEvery || !m.line.Lives() {
		return
	}
	m.drawn = now
	m.line.Set(meterText(m.what, m.done, m.total, now.Sub(m.began)), "")
}

// Count returns a reader that shows on the meter how many bytes were read. Their total is unknown.
func (m *Meter) Count(from io.Reader) io.Reader { return &meteredReader{from: from, meter: m} }

type meteredReader struct {
	from  io.Reader
	meter *Meter
	read  int64
}

// Read implements io.Reader.
func (r *meteredReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.read += int64(n)
	r.meter.Set(r.read, 0)
	return n, err
}

// Clear erases the meter.
func (m *Meter) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first != nil {
		m.first.Stop()
		m.first = nil
	}
	m.line.Clear()
}

// meterWidth is the width of the bar in characters.
const meterWidth = 12

// meterText describes the progress after a time.
func meterText(what string, done, total int64, after time.Duration) string {
	rate := int64(float64(done) / max(after.Seconds(), 0.001))
	speed := ""
	if rate > 0 {
		speed = ", " + FormatBytes(rate) + "/s"
	}
	if total <= 0 {
		return fmt.Sprintf("%s  %s%s", what, FormatBytes(done), speed)
	}
	part := min(float64(done)/float64(total), 1)
	full := int(part * meterWidth)
	left := ""
	if rate > 0 && done < total {
		left = ", " + FormatDuration(time.Duration(float64(total-done)/float64(rate)*float64(time.Second)).Round(time.Second)) + " left"
	}
	return fmt.Sprintf("%s  %s%s %3d%%  %s of %s%s%s", what, strings.Repeat("━", full), strings.Repeat("─", meterWidth-full), int(part*100),
		FormatBytes(done), FormatBytes(total), speed, left)
}

// FormatBytes formats a number of bytes with a unit that is a power of 1024.
func FormatBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, units := float64(n)/(1<<10), []string{"KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && size >= 1<<10 {
		size, units = size/(1<<10), units[1:]
	}
	if size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[0])
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}
