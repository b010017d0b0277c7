package volume

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants from the kernel's linux/nvme_ioctl.h and the NVM Express specification.
const (
	ioctlID    = 0x4E40     // NVME_IOCTL_ID
	ioctlAdmin = 0xC0484E41 // NVME_IOCTL_ADMIN_CMD
	// opIdentify is the opcode of the Identify command.
	opIdentify = 0x06
	// identifySize is the size of the Identify data structure, vendorData the offset of its
	// vendor-specific part.
	identifySize = 4096
	vendorData   = 384
)

// adminCommand is struct nvme_passthru_cmd.
type adminCommand struct {
	opcode, flags                            uint8
	_                                        uint16
	namespace, _, _                          uint32
	_, address                               uint64
	_, size                                  uint32
	cdw10, cdw11, cdw12, cdw13, cdw14, cdw15 uint32
	timeoutMilliseconds, result              uint32
}

// identifyNamespace returns the Identify Namespace data of an NVMe disk.
func identifyNamespace(disk string) ([]byte, error) {
	f, err := os.Open(disk)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	id, err := unix.IoctlRetInt(int(f.Fd()), ioctlID)
	if err != nil {
		return nil, &os.PathError{Op: "identify", Path: disk, Err: err}
	}
	out := make([]byte, identifySize)
	command := adminCommand{
		opcode: opIdentify, namespace: uint32(id), size: identifySize, //nolint:gosec // a namespace ID from the kernel
		address: uint64(uintptr(unsafe.Pointer(&out[0]))),
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), ioctlAdmin, uintptr(unsafe.Pointer(&command)))
	runtime.KeepAlive(out)
	if errno != 0 {
		return nil, &os.PathError{Op: "identify", Path: disk, Err: errno}
	}
	return out, nil
}

// nvmeName returns the disk name that Google writes to the vendor-specific part of the Identify
// data.
func nvmeName(data []byte) (name string, ok bool) {
	if len(data) < vendorData {
		return "", false
	}
	text, _, _ := bytes.Cut(data[vendorData:], []byte{0})
	var said struct {
		Name string `json:"device_name"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return "", false
	}
	return said.Name, said.Name != ""
}
