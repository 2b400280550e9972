"""Images of datasets, for those who may see the texts that show them."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.domain.images import media_type
from annotation.models import DatasetImage
from annotation.selectors.images import image_get_for
from annotation.services.images import image_folder
from annotation.views.annotator.browser import session_enrollments


@require_safe
def image(request: HttpRequest, digest: str) -> HttpResponse:
    """One image. Its content never changes, so that a browser that may keep it asks once."""
    try:
        found = image_get_for(request.user, session_enrollments(request), digest)
    except DatasetImage.DoesNotExist:
        raise Http404("There is no such image.") from None
    return picture_response(found.digest)


def picture_response(digest: str) -> HttpResponse:
    """The bytes of a stored image, which the caller has found the reader may see; Http404 where its file is missing."""
    data = image_folder().read(digest)
    if data is None:
        raise Http404("The file of this image is missing.")
    response = HttpResponse(data, content_type=media_type(data))
    response["Cache-Control"] = "private, max-age=604800, immutable"
    # A picture and nothing else, even where somebody opens it by itself.
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Content-Disposition"] = "inline"
    return response
