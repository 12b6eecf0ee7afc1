package tilert

// What tests see beside the public names.

func (b *Bound) Repeat(count int) int64 { return b.repeat(0, count) }
