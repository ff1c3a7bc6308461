// Thread names: Swift's Glibc module does not export the GNU extension.
#pragma once

// Names the calling thread; the kernel keeps the first 15 bytes.
void gateway_name_this_thread(const char *name);
