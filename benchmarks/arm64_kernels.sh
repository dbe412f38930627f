#!/bin/sh
# Build plugins/kernels for 64-bit Arm and run its tests under QEMU, on an x86-64 Debian 12, as root:
#   apt-get install qemu-user-static debootstrap unzip && sh benchmarks/arm64_kernels.sh FOLDER [PYTEST OPTIONS]
# FOLDER gets 2 GB: Debian's packages for arm64, unpacked, and wheels for aarch64. The last commit is tested. Linux must
# know who runs arm64 programs: installing qemu-user-static registers it; without systemd, as root:
#   mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
#   cat /usr/lib/binfmt.d/qemu-aarch64.conf > /proc/sys/fs/binfmt_misc/register
# Build and tests took 8 minutes of processor time. An emulator says nothing about speed.
set -eu
folder=$(realpath -m "$1")
shift
checkout=$(realpath "$(dirname "$0")/..")
root=$folder/root
test -e /proc/sys/fs/binfmt_misc/qemu-aarch64 || { echo "binfmt_misc does not know qemu-aarch64" >&2; exit 1; }

if ! test -e "$folder/ready"; then
  mkdir -p "$folder/wheels" "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/tmp" "$root/dev" "$root/opt/site"
  debootstrap --arch=arm64 --foreign --variant=minbase --include=python3,python3-pip,g++ bookworm "$folder/debian"
  for name in bin sbin lib; do ln -sfn usr/$name "$root/$name"; done
  for package in "$folder"/debian/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
  done
  for name in null zero urandom; do cp -a /dev/$name "$root/dev/"; done
  # PyPI's aarch64 wheel of torch 2.10.0 is for CPUs; that of 2.13.0 needs CUDA's libraries.
  pip download --dest "$folder/wheels" --python-version 3.11 --only-binary=:all: --platform manylinux_2_28_aarch64 \
    --platform manylinux_2_27_aarch64 --platform manylinux_2_24_aarch64 --platform manylinux_2_17_aarch64 \
    --platform manylinux2014_aarch64 --no-deps \
    torch==2.10.0 filelock typing_extensions sympy mpmath networkx jinja2 markupsafe fsspec numpy pluggy packaging \
    pytest pytest-timeout iniconfig pygments setuptools
  for wheel in "$folder"/wheels/*.whl; do unzip -qo "$wheel" -d "$root/opt/site"; done
  touch "$folder/ready"
fi

rm -rf "$root/checkout" "$root/opt/kernels"
mkdir "$root/checkout"
git -C "$checkout" archive HEAD | tar -x -C "$root/checkout"
inside() {
  chroot "$root" /usr/bin/env -i HOME=/tmp PATH=/opt/site/bin:/usr/bin:/bin LANG=C.UTF-8 OMP_NUM_THREADS=1 \
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/opt/kernels:/opt/site:/checkout:/checkout/plugins:/checkout/leaderboards "$@"
}
inside python3 -m pip install --quiet --no-index --no-deps --no-build-isolation --no-compile --target /opt/kernels \
  /checkout/plugins/kernels
inside sh -c 'cd /checkout && exec python3 -m pytest -p no:cacheprovider -o timeout=0 plugins/kernels/tests "$@"' sh "$@"
