package apiv1

// CountOnly is the limit that requests the number of entries without listing any.
const CountOnly = -2

// Page returns the part of a list of total entries that a request's offset and limit select. A
// negative offset counts from the end. Limits of 0 and -1 select everything after the offset.
func Page(total int, offset, limit int32) *Pagination {
	start := int(offset)
	if start < 0 {
		start += total
	}
	start = min(max(start, 0), total)
	end := total
	switch {
	case limit > 0:
		end = min(start+int(limit), total)
	case limit == CountOnly:
		end = start
	}
	return &Pagination{Offset: offset, Limit: limit, StartIndex: int32(start), EndIndex: int32(end), Total: int32(total)}
}
