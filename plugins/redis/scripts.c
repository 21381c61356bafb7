/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Lua scripts that the servers run, each as one atomic command.
 *
 * - A counter is 8 bytes in this machine's byte order. INCRBY counts in decimal text and
 *   BITFIELD in big-endian numbers, so neither works. Lua numbers are doubles, so counters
 *   are added as two 32-bit halves.
 * - The steps of execute change only `kept`, which is written at the end. So a failed step
 *   leaves nothing written. A get returns its value, any other step its NB_* number.
 * - Keys are passed as KEYS, as clusters and Dragonfly require.
 */
#include "redis.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define UNPACK_U64 "local l,h=struct.unpack('<I4I4',v)"
#define UNPACK_I64 "local l,h=struct.unpack('<I4i4',v,at+1)"
#define PACK_U64 "struct.pack('<I4I4',l,h)"
#else
#define UNPACK_U64 "local h,l=struct.unpack('>I4I4',v)"
#define UNPACK_I64 "local h,l=struct.unpack('>i4I4',v,at+1)"
#define PACK_U64 "struct.pack('>I4I4',h,l)"
#endif

#define ADD \
	"local function halves(v) " UNPACK_U64 " return l,h end\n" \
	"local function add(v,w)\n" \
	" local l,h=halves(v)\n" \
	" local m,i=halves(w)\n" \
	" l=l+m\n" \
	" h=h+i\n" \
	" if l>=4294967296 then l=l-4294967296 h=h+1 end\n" \
	" if h>=4294967296 then h=h-4294967296 end\n" \
	" return " PACK_U64 "\n" \
	"end\n"
#define NOT_8 "redis.error_reply('merge: the value has '..#v..' bytes, a counter has 8')"

/* KEYS: the key. ARGV: the operand. */
const char merge_script[] = ADD "local v=redis.call('GET',KEYS[1])\n"
				"if v and #v~=8 then return " NOT_8 " end\n"
				"redis.call('SET',KEYS[1],v and add(v,ARGV[1]) or ARGV[1])\n"
				"return 0\n";

/* KEYS: the key of each step. ARGV, for each step: NB_STEP_*, skips, value, offset of the age. */
const char execute_script[] = ADD
	"local function age(v,at) " UNPACK_I64 " return h,l end\n"
	"local kept,dirty,out={},{},{}\n"
	"local function write(k,v) kept[k]=v dirty[k]=true end\n"
	"local i,n=1,#KEYS\n"
	"while i<=n do\n"
	" local a=4*i-3\n"
	" local k,verb,skips,value=KEYS[i],ARGV[a],ARGV[a+1],ARGV[a+2]\n"
	" local v,r=kept[k],0\n"
	" if v==nil and verb~='1' then v=redis.call('GET',k) kept[k]=v end\n"
	" if verb=='0' then r=v or 1\n"
	" elseif verb=='1' then write(k,value)\n"
	" elseif verb=='2' then if v then write(k,false) else r=1 end\n"
	" elseif verb=='3' then if v then r=3 else write(k,value) end\n"
	" elseif verb=='4' then\n"
	"  if v and #v~=8 then return " NOT_8 " end\n"
	"  write(k,v and add(v,value) or value)\n"
	" elseif not v then r=1\n"
	" else\n"
	"  local at=tonumber(ARGV[a+3])\n"
	"  if #v<at+8 or #value<at+8 then\n"
	"   return redis.error_reply('put-if-newer: a value ends before its age')\n"
	"  end\n"
	"  local h,l=age(v,at)\n"
	"  local g,m=age(value,at)\n"
	"  if g>h or (g==h and m>l) then write(k,value) else r=3 end\n"
	" end\n"
	" out[i]=r\n"
	" if r==1 or r==3 then\n"
	"  local last=i+tonumber(skips)\n"
	"  while i<n and i<last do i=i+1 out[i]=3 end\n"
	" end\n"
	" i=i+1\n"
	"end\n"
	"for k in pairs(dirty) do\n"
	" if kept[k] then redis.call('SET',k,kept[k]) else redis.call('DEL',k) end\n"
	"end\n"
	"return out\n";
