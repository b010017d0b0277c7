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

// growFilesystem resizes an ext4 to its disk, when the disk was enlarged since.
// It is done before mounting, with a check first as resize2fs demands.
func (v Volume) growFilesystem(ctx context.Context, disk string) error {
	has, needs, err := diskSizes(disk)
	if err != nil || has <= needs {
		return err
	}
	v.Log.Info("the data volume was enlarged, growing its file system", "volume", v.title(), "from", needs, "to", has)
	err = runTool(ctx, "e2fsck", "-f", "-p", disk)
	// It ends with 1 when it repaired something by itself.
	if e, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || e.ExitCode() != 1) {
		return err
	}
	return runTool(ctx, "resize2fs", disk)
}

// logGrowError logs when a file system could not be enlarged. That is no reason for
// the cluster to stay down.
func (v Volume) logGrowError(err error) {
	if err != nil {
		v.Log.Warn("the data volume keeps the size that it had", "volume", v.title(), "err", err)
	}
}

// diskSizes returns how many bytes a disk has, less what is too little for one more
// group of blocks, and how many its ext4 uses.
func diskSizes(disk string) (has, uses int64, err error) {
	f, err := os.Open(disk)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	if has, err = f.Seek(0, io.SeekEnd); err != nil {
		return 0, 0, err
	}
	// The superblock is at 1024; its fields are where ext4's layout says.
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
