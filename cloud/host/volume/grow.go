package volume

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// growFilesystem grows an ext4 file system after its disk was enlarged. It runs before mounting,
// after the file system check that resize2fs requires.
func (v Volume) growFilesystem(ctx context.Context, disk string) error {
	has, needs, err := diskSizes(disk)
	if err != nil || has <= needs {
		return err
	}
	v.Log.Info("the data volume was enlarged, growing its file system", "volume", v.title(), "from", needs, "to", has)
	err = runTool(ctx, "e2fsck", "-f", "-p", disk)
	// Exit code 1 of e2fsck means that all errors were corrected.
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 1) {
		return err
	}
	return runTool(ctx, "resize2fs", disk)
}

// logGrowError logs a failure to grow the file system. The cluster starts nevertheless.
func (v Volume) logGrowError(err error) {
	if err != nil {
		v.Log.Warn("cannot grow the file system of the data volume", "volume", v.title(), "err", err)
	}
}

// diskSizes returns the size of a disk in bytes, reduced by the size below which no further block
// group fits, and the size of its ext4 file system.
func diskSizes(disk string) (has, uses int64, err error) {
	f, err := os.Open(disk)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if has, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, err
	}
	// The superblock is at offset 1024. The field offsets are those of the ext4 disk layout.
	super := make([]byte, 1024)
	if _, err := f.ReadAt(super, 1024); err != nil {
		return 0, 0, fmt.Errorf("read the superblock of %s: %w", disk, err)
	}
	le := binary.LittleEndian
	blocks := int64(le.Uint32(super[0x04:])) | int64(le.Uint32(super[0x150:]))<<32
	block := int64(1024) << le.Uint32(super[0x18:])
	group := int64(le.Uint32(super[0x20:])) * block
	return has - group/16, blocks * block, nil
}
